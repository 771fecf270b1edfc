//! One of the two streams: once its reader is gone, or it has failed, nothing more is written.

use std::io::{self, Write};

/// A stream, and what became of it.
pub(super) struct Sink {
    writer: Box<dyn Write + Send>,
    pub(super) failure: Option<io::Error>,
    pub(super) is_closed: bool,
    pub(super) is_begun: bool,
}

impl Sink {
    pub(super) fn new(writer: impl Write + Send + 'static) -> Self {
        Self { writer: Box::new(writer), failure: None, is_closed: false, is_begun: false }
    }

    pub(super) fn write(&mut self, text: &str) {
        if self.is_closed || text.is_empty() {
            return;
        }
        self.is_begun = true;
        let written = self.writer.write_all(text.as_bytes()).and_then(|()| self.writer.flush());
        if let Err(error) = written {
            self.is_closed = true;
            if error.kind() != io::ErrorKind::BrokenPipe {
                self.failure = Some(error);
            }
        }
    }
}
