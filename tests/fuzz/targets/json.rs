//! A second reader of JSON, of another shape than the one under test: a loop over bytes with a
//! stack of its own. It answers whether every reader would understand a text alike.

/// The deepest nesting that the reader under test takes.
pub const DEPTH_MAX: usize = 127;
/// The last integer that every reader keeps exactly.
const NUMBER_MAX: f64 = 9_007_199_254_740_991.0;

/// An object that is still open has its keys, an array has none.
type Open = Option<Vec<String>>;

struct Reader<'t> {
    text: &'t [u8],
    at: usize,
    number_max: f64,
}

/// Why a text is not one strict document; none where it is.
pub fn problem(bytes: &[u8]) -> Option<&'static str> {
    problem_up_to(bytes, NUMBER_MAX)
}

/// The same of a document that is somebody else's, whose numbers may be any that a float holds.
pub fn problem_of_foreign(bytes: &[u8]) -> Option<&'static str> {
    problem_up_to(bytes, f64::MAX)
}

fn problem_up_to(bytes: &[u8], number_max: f64) -> Option<&'static str> {
    if bytes.len() > 1 << 20 {
        return Some("too long");
    }
    if std::str::from_utf8(bytes).is_err() {
        return Some("not UTF-8");
    }
    Reader { text: bytes, at: 0, number_max }.document().err()
}

impl Reader<'_> {
    fn document(&mut self) -> Result<(), &'static str> {
        let mut open: Vec<Open> = Vec::new();
        loop {
            // A value begins here.
            self.space();
            let begun = match self.next()? {
                b'{' => Some(Some(Vec::new())),
                b'[' => Some(None),
                b'"' => {
                    self.string()?;
                    None
                }
                b'-' | b'0'..=b'9' => {
                    self.at -= 1;
                    self.number()?;
                    None
                }
                first => {
                    self.word(first)?;
                    None
                }
            };
            if let Some(begun) = begun {
                open.push(begun);
                if open.len() > DEPTH_MAX {
                    return Err("too deep");
                }
                self.space();
                if !self.take(if open.last() == Some(&None) { b']' } else { b'}' }) {
                    self.key(&mut open)?;
                    continue;
                }
                open.pop();
            }
            // A value has ended here, and with it perhaps what it is in.
            loop {
                self.space();
                let Some(inner) = open.last() else {
                    return if self.at == self.text.len() {
                        Ok(())
                    } else {
                        Err("something follows")
                    };
                };
                if self.take(b',') {
                    self.key(&mut open)?;
                    break;
                }
                if !self.take(if inner.is_none() { b']' } else { b'}' }) {
                    return Err("neither a comma nor the end");
                }
                open.pop();
            }
        }
    }

    /// The key of the next member, where an object is open.
    fn key(&mut self, open: &mut [Open]) -> Result<(), &'static str> {
        let Some(Some(keys)) = open.last_mut() else { return Ok(()) };
        self.space();
        if !self.take(b'"') {
            return Err("a key was expected");
        }
        let key = self.string()?;
        if keys.contains(&key) {
            return Err("a key twice");
        }
        keys.push(key);
        self.space();
        if self.take(b':') { Ok(()) } else { Err("a colon was expected") }
    }

    fn string(&mut self) -> Result<String, &'static str> {
        let (mut units, mut out) = (Vec::new(), Vec::new());
        loop {
            let byte = self.next()?;
            if byte != b'\\' && !units.is_empty() {
                out.extend(String::from_utf16(&units).map_err(|_| "a lone surrogate")?.bytes());
                units.clear();
            }
            match byte {
                b'"' => break,
                0..=0x1F => return Err("a raw control character"),
                b'\\' => self.escape(&mut units)?,
                byte => out.push(byte),
            }
        }
        let text = String::from_utf8(out).map_err(|_| "not UTF-8")?;
        if text.contains('\0') { Err("U+0000") } else { Ok(text) }
    }

    fn escape(&mut self, units: &mut Vec<u16>) -> Result<(), &'static str> {
        units.push(match self.next()? {
            b'n' => 10,
            b't' => 9,
            b'r' => 13,
            b'b' => 8,
            b'f' => 12,
            byte @ (b'"' | b'\\' | b'/') => u16::from(byte),
            b'u' => {
                let digits = self.text.get(self.at..self.at + 4).ok_or("a cut escape")?;
                self.at += 4;
                let is_hex = digits.iter().all(u8::is_ascii_hexdigit);
                let digits = std::str::from_utf8(digits).map_err(|_| "no hex digits")?;
                let unit = u16::from_str_radix(digits, 16).map_err(|_| "no hex digits")?;
                if is_hex { unit } else { return Err("no hex digits") }
            }
            _ => return Err("no such escape"),
        });
        Ok(())
    }

    fn number(&mut self) -> Result<(), &'static str> {
        let start = self.at;
        self.take(b'-');
        if !self.take(b'0') && self.digits() == 0 {
            return Err("no digits");
        }
        if self.take(b'.') && self.digits() == 0 {
            return Err("no digits after the point");
        }
        if self.take(b'e') || self.take(b'E') {
            let _ = self.take(b'-') || self.take(b'+');
            if self.digits() == 0 {
                return Err("no digits of the exponent");
            }
        }
        let text = std::str::from_utf8(&self.text[start..self.at]).map_err(|_| "not UTF-8")?;
        let value: f64 = text.parse().map_err(|_| "no number")?;
        if value.abs() > self.number_max { Err("a number past 2^53 - 1") } else { Ok(()) }
    }

    fn word(&mut self, first: u8) -> Result<(), &'static str> {
        let rest: &[u8] = match first {
            b't' => b"rue",
            b'f' => b"alse",
            b'n' => b"ull",
            _ => return Err("no value begins so"),
        };
        let is_it = self.text[self.at..].starts_with(rest);
        self.at += rest.len();
        if is_it { Ok(()) } else { Err("no such word") }
    }

    fn digits(&mut self) -> usize {
        let count = self.text[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        count
    }

    fn space(&mut self) {
        while self.text.get(self.at).is_some_and(|byte| b" \t\r\n".contains(byte)) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        let is_it = self.text.get(self.at) == Some(&byte);
        self.at += usize::from(is_it);
        is_it
    }

    fn next(&mut self) -> Result<u8, &'static str> {
        let byte = self.text.get(self.at).copied().ok_or("it is cut short")?;
        self.at += 1;
        Ok(byte)
    }
}
