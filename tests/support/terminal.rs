//! A real terminal: what a person types, and what is shown.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use super::World;

/// The keyboard and the screen. When it is dropped, the line is hung up.
pub(crate) struct Terminal {
    pub(crate) keyboard: File,
    pub(crate) screen: Receiver<Vec<u8>>,
    pub(crate) child: Child,
}

impl Terminal {
    /// Starts words as the leader of a session of its own, whose terminal this is. `shell` makes
    /// them a job of a shell with job control instead.
    pub(crate) fn start(world: &World, shell: Option<&str>, line: &str) -> Self {
        Self::of_size(world, shell, line, (0, 0))
    }

    /// The same on a screen of so many rows and columns.
    pub(crate) fn of_size(
        world: &World,
        shell: Option<&str>,
        line: &str,
        (ws_row, ws_col): (u16, u16),
    ) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master: OwnedFd = openpt(flags).expect("a terminal");
        grantpt(&master).expect("granted");
        unlockpt(&master).expect("unlocked");
        let name = ptsname(&master, Vec::new()).expect("its name").into_string().expect("UTF-8");
        let slave = File::options().read(true).write(true).open(name).expect("opened");
        let size = Winsize { ws_row, ws_col, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&slave, size).expect("a size");
        let inner = world.command(&line.split_whitespace().collect::<Vec<_>>());
        let mut command = Command::new("/usr/bin/setsid");
        command.arg("--ctty");
        if let Some(script) = shell {
            command.args(["/bin/sh", "-m", "-c", script, "sh"]);
        }
        command
            .arg(inner.get_program())
            .args(inner.get_args())
            .env_clear()
            .envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))))
            .current_dir(world.path(""))
            .stdin(Stdio::from(slave.try_clone().expect("cloned")))
            .stdout(Stdio::from(slave.try_clone().expect("cloned")))
            .stderr(Stdio::from(slave));
        let child = command.spawn().expect("started");
        let master = File::from(master);
        let (sender, screen) = channel();
        let mut reading = master.try_clone().expect("cloned");
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // The end comes when the last process of the session has closed the terminal.
            while let Ok(count @ 1..) = reading.read(&mut bytes) {
                if sender.send(bytes[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { keyboard: master, screen, child }
    }

    pub(crate) fn press(&mut self, key: u8) {
        self.keyboard.write_all(&[key]).expect("it takes a key");
    }

    /// Types a line.
    pub(crate) fn type_line(&mut self, text: &str) {
        self.keyboard.write_all(format!("{text}\n").as_bytes()).expect("it takes a line");
    }

    /// Waits until the screen has shown a text.
    #[track_caller]
    pub(crate) fn await_text(&self, text: &str) -> String {
        let mut shown = String::new();
        let until = Instant::now() + Duration::from_secs(15);
        while !shown.contains(text) {
            let left = until.saturating_duration_since(Instant::now());
            let more = self.screen.recv_timeout(left);
            let more = more.unwrap_or_else(|_| panic!("never {text:?} on the screen: {shown}"));
            shown.push_str(&String::from_utf8_lossy(&more));
        }
        shown
    }

    /// What is shown until nobody has the terminal any more.
    pub(crate) fn rest(&self) -> String {
        self.screen.iter().map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect()
    }

    pub(crate) fn code(mut self) -> Option<i32> {
        self.child.wait().expect("ours").code()
    }
}
