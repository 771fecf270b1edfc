//! One answer of HTTP/1.1, taken apart as it comes. Pure: bytes in, an answer out.
//!
//! The head and the sizes of chunks are read by `httparse`; what is left is where a body ends.

use httparse::Status;

/// The most bytes of a head, and of one line of a chunk.
const HEAD_BYTES_MAX: usize = 64 * 1024;
/// The most bytes of a body: the tasks of a service of several thousand replicas.
const BODY_BYTES_MAX: usize = 32 * 1024 * 1024;
/// The most headers of an answer.
const HEADERS_MAX: usize = 64;
/// The most answers that only say that another one comes (1xx).
const INTERIM_MAX: u32 = 8;

/// Why bytes are no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HttpError {
    /// Not HTTP/1.1, or a body without an end that can be told.
    #[error("the answer is no HTTP/1.1: {0}")]
    Garbled(String),
    /// More than is read.
    #[error("the answer is longer than {BODY_BYTES_MAX} bytes")]
    TooLong,
    /// It ended in its middle.
    #[error("the answer was cut short")]
    Cut,
}

fn garbled(what: &str) -> HttpError {
    HttpError::Garbled(what.to_owned())
}

/// One whole answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status, 200 to 599.
    pub status: u16,
    /// The body, without the marks of chunks.
    pub body: Vec<u8>,
    /// Whether the connection ends with it.
    pub closes: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Body {
    /// So many bytes.
    Sized(usize),
    /// So many bytes of a chunk, then its line end.
    Chunk(usize),
    /// The line end of a chunk.
    ChunkEnd,
    /// The size of the next chunk.
    ChunkSize,
    /// Lines up to an empty one.
    Trailer,
    /// All there is.
    ToTheEnd,
}

#[derive(Debug)]
enum State {
    Head,
    Body(Answer, Body),
    Done(Answer),
}

/// Gathers one answer.
#[derive(Debug)]
pub struct Decoder {
    bytes: Vec<u8>,
    state: State,
    interim: u32,
}

impl Default for Decoder {
    fn default() -> Self {
        Self { bytes: Vec::new(), state: State::Head, interim: 0 }
    }
}

impl Decoder {
    /// Takes more bytes.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), HttpError> {
        self.bytes.extend_from_slice(bytes);
        while self.step()? {}
        Ok(())
    }

    /// The answer, once it is whole; then nothing may have come after it.
    pub fn whole(&mut self) -> Result<Option<Answer>, HttpError> {
        match std::mem::replace(&mut self.state, State::Head) {
            State::Done(_) if !self.bytes.is_empty() => Err(garbled("there is more than one")),
            State::Done(answer) => Ok(Some(answer)),
            state @ (State::Head | State::Body(..)) => {
                self.state = state;
                Ok(None)
            }
        }
    }

    /// The answer, where nothing comes any more.
    pub fn ended(&mut self) -> Result<Answer, HttpError> {
        if let State::Body(answer, Body::ToTheEnd) = &mut self.state {
            let answer =
                std::mem::replace(answer, Answer { status: 0, body: Vec::new(), closes: true });
            self.state = State::Done(answer);
        }
        self.whole()?.ok_or(HttpError::Cut)
    }

    /// One step; false where more bytes are needed, or none.
    fn step(&mut self) -> Result<bool, HttpError> {
        match std::mem::replace(&mut self.state, State::Head) {
            State::Head => self.head(),
            State::Body(answer, body) => self.body(answer, body),
            done @ State::Done(_) => {
                self.state = done;
                Ok(false)
            }
        }
    }

    fn head(&mut self) -> Result<bool, HttpError> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut response = httparse::Response::new(&mut headers);
        let length = match response
            .parse(&self.bytes)
            .map_err(|error| garbled(&error.to_string()))?
        {
            Status::Complete(length) if length <= HEAD_BYTES_MAX => length,
            Status::Partial if self.bytes.len() <= HEAD_BYTES_MAX => return Ok(false),
            Status::Complete(_) | Status::Partial => return Err(garbled("its head is too long")),
        };
        let status = response.code.ok_or_else(|| garbled("it has no status"))?;
        let is_old = response.version != Some(1);
        let (body, closes) = framing(status, response.headers, is_old)?;
        self.bytes.drain(..length);
        if (100..200).contains(&status) {
            self.interim += 1;
            if status == 101 || self.interim > INTERIM_MAX {
                return Err(garbled(&format!("a status of {status} was not asked for")));
            }
            return Ok(true);
        }
        if !(200..600).contains(&status) {
            return Err(garbled(&format!("no status is {status}")));
        }
        self.state = State::Body(Answer { status, body: Vec::new(), closes }, body);
        Ok(true)
    }

    fn body(&mut self, mut answer: Answer, body: Body) -> Result<bool, HttpError> {
        let next = match body {
            Body::Sized(left) => match self.take(&mut answer, left)? {
                0 => None,
                left => return Ok(self.wait(answer, Body::Sized(left))),
            },
            Body::Chunk(left) => match self.take(&mut answer, left)? {
                0 => Some(Body::ChunkEnd),
                left => return Ok(self.wait(answer, Body::Chunk(left))),
            },
            Body::ChunkEnd => match self.bytes.get(..2) {
                Some(b"\r\n") => {
                    self.bytes.drain(..2);
                    Some(Body::ChunkSize)
                }
                Some(_) => return Err(garbled("a chunk does not end where it should")),
                None => return Ok(self.wait(answer, body)),
            },
            Body::ChunkSize => match httparse::parse_chunk_size(&self.bytes) {
                Err(_) => return Err(garbled("a chunk has no size")),
                Ok(Status::Partial) => return self.wait_for_line(answer, body),
                Ok(Status::Complete((length, 0))) => {
                    self.bytes.drain(..length);
                    Some(Body::Trailer)
                }
                Ok(Status::Complete((length, size))) => {
                    self.bytes.drain(..length);
                    Some(Body::Chunk(usize::try_from(size).map_err(|_| HttpError::TooLong)?))
                }
            },
            Body::Trailer => match self.bytes.windows(2).position(|pair| pair == b"\r\n") {
                Some(0) => {
                    self.bytes.drain(..2);
                    None
                }
                Some(length) => {
                    self.bytes.drain(..length + 2);
                    Some(Body::Trailer)
                }
                None => return self.wait_for_line(answer, body),
            },
            Body::ToTheEnd => {
                self.take(&mut answer, usize::MAX)?;
                return Ok(self.wait(answer, Body::ToTheEnd));
            }
        };
        self.state = match next {
            Some(body) => State::Body(answer, body),
            None => State::Done(answer),
        };
        Ok(true)
    }

    fn wait(&mut self, answer: Answer, body: Body) -> bool {
        self.state = State::Body(answer, body);
        false
    }

    fn wait_for_line(&mut self, answer: Answer, body: Body) -> Result<bool, HttpError> {
        if self.bytes.len() > HEAD_BYTES_MAX {
            return Err(garbled("a line of it is too long"));
        }
        Ok(self.wait(answer, body))
    }

    /// Moves what has come into the body; how much is left to come.
    fn take(&mut self, answer: &mut Answer, left: usize) -> Result<usize, HttpError> {
        let here = left.min(self.bytes.len());
        if answer.body.len() + here > BODY_BYTES_MAX {
            return Err(HttpError::TooLong);
        }
        answer.body.extend(self.bytes.drain(..here));
        Ok(left - here)
    }
}

/// How long the body is, and whether the connection ends with it (RFC 9112, section 6.3).
fn framing(
    status: u16,
    headers: &[httparse::Header<'_>],
    is_old: bool,
) -> Result<(Body, bool), HttpError> {
    let all = |name: &str| {
        let found = headers.iter().filter(|header| header.name.eq_ignore_ascii_case(name));
        let texts: Vec<String> = found
            .map(|header| String::from_utf8_lossy(header.value).trim().to_ascii_lowercase())
            .collect();
        texts
    };
    let closes = is_old || all("connection").iter().any(|text| text.contains("close"));
    let codings = all("transfer-encoding");
    let sizes = all("content-length");
    if status < 200 || status == 204 || status == 304 {
        return Ok((Body::Sized(0), closes));
    }
    match (codings.as_slice(), sizes.as_slice()) {
        ([], []) => Ok((Body::ToTheEnd, true)),
        ([], [size]) if size.bytes().all(|b| b.is_ascii_digit()) => {
            let size = size.parse().map_err(|_| garbled("its length is no number"))?;
            Ok((Body::Sized(size), closes))
        }
        ([coding], []) if coding == "chunked" => Ok((Body::ChunkSize, closes)),
        _ => Err(garbled("its length is told in two ways, or in none that is known")),
    }
}
