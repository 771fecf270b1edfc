//! What is shown again and again: in the same place of a terminal, until its reader is gone.

use std::fmt::Write as _;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::tcgetwinsize;

use super::{Answer, Format, Out};
use crate::cli::table::{Look, cut};
use crate::domain::time::DurationMs;

/// The screen of a terminal that does not tell its size.
const ROWS: usize = 24;

impl Out {
    /// What the reader's screen can do.
    pub const fn look(&self) -> &Look {
        &self.look
    }

    /// Shows an answer in the place of the one before, as much of it as the screen has room for. A
    /// terminal that cannot move its cursor gets one below the other.
    pub fn repaint(&mut self, answer: &Answer) {
        let size = tcgetwinsize(rustix::stdio::stdout()).ok();
        let rows = size.map_or(ROWS, |size| usize::from(size.ws_row)).max(3);
        let columns = size.map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0);
        let columns = columns.or(self.look.width()).unwrap_or(80);
        // Without colour, so that a line can be cut anywhere.
        let look = Look::new(true, Some(columns), Some("1"), None);
        let text = answer.stderr_text() + &answer.stdout_text(Format::Table, &look);
        if !self.look.can_move() {
            return self.stdout.write(&format!("{text}\n"));
        }
        let lines: Vec<&str> = text.lines().collect();
        let room = rows - 1;
        let shown = if lines.len() > room { room - 1 } else { lines.len() };
        let mut screen = String::new();
        // To the corner; only then each line, and what is left of the former one behind it.
        screen.push_str(if self.stdout.is_begun { "\u{1b}[H" } else { "\u{1b}[2J\u{1b}[H" });
        for line in &lines[..shown] {
            screen.extend([&*cut(line, columns), "\u{1b}[K\n"]);
        }
        if shown < lines.len() {
            let left = lines.len() - shown;
            writeln!(screen, "… {left} more lines\u{1b}[K")
                .expect("BUG: a String takes every text");
        }
        screen.push_str("\u{1b}[J");
        self.stdout.write(&screen);
    }

    /// Waits so long, or until the reader of a pipe or a terminal has gone: then it is true.
    pub fn waits_for_reader(&self, duration: DurationMs) -> bool {
        let stdout = rustix::stdio::stdout();
        let mut fds = [PollFd::new(&stdout, PollFlags::empty())];
        let millis = duration.as_millis();
        let timeout = Timespec {
            tv_sec: i64::try_from(millis / 1000).unwrap_or(i64::MAX),
            tv_nsec: i64::try_from(millis % 1000 * 1_000_000).unwrap_or(0),
        };
        match poll(&mut fds, Some(&timeout)) {
            Ok(count) => count > 0 && fds[0].revents().intersects(PollFlags::ERR | PollFlags::HUP),
            Err(_) => false,
        }
    }
}
