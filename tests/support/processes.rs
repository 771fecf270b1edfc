//! The processes that the commands of a world have started.

use super::World;

impl World {
    /// Waits until no guard and no actuator of this world is left.
    #[track_caller]
    pub(crate) fn await_no_children(&self) {
        self.until("no process of this world is left", || self.children().is_empty());
    }

    /// The same, and waits for those that had no environment left to be known by: the end of a
    /// process gives up its memory first, and its files and their locks after that.
    pub(crate) fn await_ended(&self, before: &[String]) {
        self.await_no_children();
        self.until("every process has ended", || {
            before.iter().all(|pid| {
                let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
                stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with(['Z', 'X']))
            })
        });
    }

    /// The processes of this world: those that carry its path in their environment.
    pub(crate) fn children(&self) -> Vec<String> {
        let path = self.dir.path().to_str().unwrap().as_bytes();
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let numbered = processes
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
        numbered
            .filter(|pid| {
                let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
                environment.windows(path.len()).any(|window| window == path)
            })
            .collect()
    }
}
