//! Mutations that know what texts are made of: tokens, members, lines; and bytes.

use serde_json::Value;

/// Numbers that are the same for the same seed (SplitMix64).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64, stream: &str) -> Self {
        let mixed = stream
            .bytes()
            .fold(seed, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3));
        Self(mixed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Below a bound; zero where that is zero.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound.max(1) as u64).expect("it is below a usize")
    }

    pub(crate) fn pick<'t, T>(&mut self, from: &'t [T]) -> &'t T {
        &from[self.below(from.len())]
    }
}

/// What is put in the place of a token.
const TOKENS: [&str; 40] = [
    "null",
    "true",
    "false",
    "0",
    "-0",
    "-1",
    "1.0",
    "1e0",
    "3.5",
    "9007199254740991",
    "9007199254740992",
    "-9007199254740992",
    "18446744073709551615",
    "18446744073709551616",
    "1e300",
    "1e999",
    "-1e-999",
    "007",
    "+1",
    "NaN",
    "\"\"",
    "\"\\u0000\"",
    "\"\\ud800\"",
    "\"\\udc00\\ud800\"",
    "\"\\ud83d\\ude00\"",
    "\" k \"",
    "\"a\\nb\"",
    "\"e\\u0301\"",
    "\"\u{e9}\"",
    "\"../../etc\"",
    "\"2026-02-30T12:00:00Z\"",
    "\"9999-12-31T23:59:59Z\"",
    "\"never\"",
    "\"succeeded\"",
    "\"simulated\"",
    "[]",
    "{}",
    "{\"a\":1,\"\\u0061\":2}",
    ",",
    "}",
];

/// One text from a corpus, changed one to four times.
pub(super) fn mutated(random: &mut Random, corpus: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = random.pick(corpus).clone();
    // Every third is changed gently, or nearly all would fail at the first door.
    let (times, ways) = if random.below(3) == 0 { (1, 4) } else { (1 + random.below(4), 14) };
    for _ in 0..times {
        bytes = match random.below(ways) {
            0..4 => nudged(random, &bytes),
            4 | 5 => at_a_byte(random, bytes),
            6 => at_a_line(random, bytes),
            7 => spliced(random, bytes, corpus),
            8 | 9 => at_a_token(random, &bytes),
            _ => at_a_node(random, &bytes).unwrap_or_else(|| at_a_token(random, &bytes)),
        };
        bytes.truncate(1 << 16);
    }
    bytes
}

fn at_a_byte(random: &mut Random, mut bytes: Vec<u8>) -> Vec<u8> {
    let at = random.below(bytes.len());
    match random.below(5) {
        _ if bytes.is_empty() => bytes.push(b'0'),
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes[at] = *random.pick(b"\0\n\r \"\\{}[]:,-0\x7f\x80\xc3\xff"),
        2 => bytes.truncate(at),
        3 => drop(bytes.drain(at..(at + 1 + random.below(8)).min(bytes.len()))),
        _ => bytes.insert(at, bytes[random.below(bytes.len())]),
    }
    bytes
}

fn at_a_line(random: &mut Random, bytes: Vec<u8>) -> Vec<u8> {
    let mut lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    if lines.len() < 2 {
        return at_a_byte(random, bytes);
    }
    let (one, other) = (random.below(lines.len()), random.below(lines.len()));
    match random.below(3) {
        0 => drop(lines.remove(one)),
        1 => lines.insert(one, lines[other]),
        _ => lines.swap(one, other),
    }
    lines.concat()
}

fn spliced(random: &mut Random, mut bytes: Vec<u8>, corpus: &[Vec<u8>]) -> Vec<u8> {
    let other = random.pick(corpus);
    bytes.truncate(random.below(bytes.len() + 1));
    bytes.extend_from_slice(&other[random.below(other.len() + 1)..]);
    bytes
}

/// Cut where a word, a number, a string or a mark ends.
fn tokens(bytes: &[u8]) -> Vec<&[u8]> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"._:/-+".contains(&byte);
    let (mut found, mut rest) = (Vec::new(), bytes);
    while let Some(first) = rest.first() {
        let length = match first {
            b'"' => {
                let end = rest[1..].iter().position(|byte| *byte == b'"');
                end.map_or(rest.len(), |end| end + 2)
            }
            byte if is_word(*byte) => rest.iter().take_while(|byte| is_word(**byte)).count(),
            _ => 1,
        };
        let (token, after) = rest.split_at(length);
        found.push(token);
        rest = after;
    }
    found
}

/// Another number in the place of a number, or another letter in a word: most readers take it.
fn nudged(random: &mut Random, bytes: &[u8]) -> Vec<u8> {
    let places: Vec<usize> =
        (0..bytes.len()).filter(|at| bytes[*at].is_ascii_alphanumeric()).collect();
    let mut bytes = bytes.to_vec();
    let Some(at) = places.get(random.below(places.len())) else { return bytes };
    bytes[*at] = match bytes[*at] {
        b'0'..=b'9' => *random.pick(b"0123456789"),
        _ => *random.pick(b"abcdefghijkxyzABC"),
    };
    bytes
}

fn at_a_token(random: &mut Random, bytes: &[u8]) -> Vec<u8> {
    let mut found = tokens(bytes);
    if found.is_empty() {
        return random.pick(&TOKENS).as_bytes().to_vec();
    }
    let (one, other) = (random.below(found.len()), random.below(found.len()));
    match random.below(6) {
        0 => found.swap(one, other),
        1 => drop(found.remove(one)),
        2 => found.insert(one, found[other]),
        3 => {
            // A member, an item or a phrase once more.
            let end = (one + 1 + random.below(6)).min(found.len());
            let again: Vec<&[u8]> = found[one..end].to_vec();
            found.splice(one..one, again);
        }
        _ => found[one] = random.pick(&TOKENS).as_bytes(),
    }
    found.concat()
}

/// Changes one place of a JSON document, or of one line of many, which stays JSON.
fn at_a_node(random: &mut Random, bytes: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(bytes).ok()?;
    // What stands before the document says how a process ended.
    let start = text.find(['{', '['])?;
    let (head, rest) = text.split_at(start);
    let lines: Vec<&str> = rest.lines().collect();
    let at = random.below(lines.len());
    let mut document: Value = serde_json::from_str(lines.get(at)?).ok()?;
    let mut places = Vec::new();
    all_places(&document, String::new(), &mut places);
    let place = random.pick(&places).clone();
    let other = document.pointer(random.pick::<String>(&places)).cloned()?;
    match random.below(5) {
        // The same without its names.
        0..=2 if random.below(6) == 0 => {
            let target = document.pointer_mut(&place)?;
            let items = target.as_object()?.values().cloned().collect();
            *target = Value::Array(items);
        }
        0 => *document.pointer_mut(&place)? = other,
        // Past every bound of a text.
        3 if random.below(4) == 0 => {
            *document.pointer_mut(&place)? = Value::String("x".repeat(513));
        }
        1 => {
            let (parent, name) = place.rsplit_once('/')?;
            document.pointer_mut(parent)?.as_object_mut()?.remove(name)?;
        }
        2 => {
            let new = ["x", "at", "error", "schema_version"][random.below(4)];
            document.pointer_mut(&place)?.as_object_mut()?.insert(new.to_owned(), other);
        }
        _ => {
            let token = random.pick(&TOKENS);
            *document.pointer_mut(&place)? = serde_json::from_str(token).ok()?;
        }
    }
    let mut lines: Vec<String> = lines.into_iter().map(str::to_owned).collect();
    lines[at] = document.to_string();
    Some(format!("{head}{}", lines.join("\n")).into_bytes())
}

fn all_places(value: &Value, place: String, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                all_places(member, format!("{place}/{name}"), found);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                all_places(item, format!("{place}/{index}"), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    found.push(place);
}
