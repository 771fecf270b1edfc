//! The end of a run: recovery, one more wish, and everything that must hold then.

use super::book::Book;
use super::{NEVER, Run};

impl Run {
    /// Recovery, until nothing is open but what has not started; then everything is held against
    /// what was acknowledged and what the actuator knows.
    pub(super) fn finish(mut self) {
        let mut is_stranded = false;
        for _ in 0..20 {
            let ran = self.world.json("replay --all --wait --timeout 5s");
            let is_known = ran.code.is_some_and(|code| !NEVER.contains(&code));
            assert!(is_known, "{}\n{ran:#?}", self.told);
            let open = self.open_states();
            // A failure that has a newer wish behind it is for that one's start to end.
            let is_waited_for = open.iter().any(|state| state == "accepted");
            is_stranded = is_waited_for && self.world.run("actuate web@latest").code == Some(10);
            if !is_waited_for || is_stranded {
                break;
            }
        }
        self.world.await_no_children();
        let open = self.open_states();
        // A wish that can never start ends no failure before it.
        let may_stay = |state: &String| state == "accepted" || (is_stranded && state == "failed");
        assert!(open.iter().all(may_stay), "{}\n{open:#?}", self.told);
        // A failure with attempts left is ended by a person only, as its line says. Then the next
        // wish goes through; one whose settings have moved may wait under a lease, and is ended by
        // it.
        if open.iter().any(|state| state == "failed") {
            self.abandon_failures();
        }
        self.next_call_does("ok");
        let ran = self.world.run("scale web=10 --supersede --reason last --key last --timeout 10s");
        assert_eq!(ran.code, Some(0), "{}\n{ran:#?}", self.told);
        assert_eq!(self.open_states(), Vec::<String>::new(), "{}", self.told);
        self.book.new_events(&self.world);
        self.book.check_ledger(&self.world, &self.told);
        self.book.check_calls(&self.world, &self.told);
        Book::check_effects(&self.world, &self.told);
        self.book.check_acknowledged(&self.world, &self.told);
        self.world.await_no_children();
    }

    /// Ends every failure that is under way.
    fn abandon_failures(&self) {
        let open = self.world.json("intent list --unfinished").exits(0).at("/executions");
        let failed = open.as_array().expect("a list").iter().filter(|row| row["state"] == "failed");
        for row in failed {
            let key = row["execution_key"].as_str().expect("a key");
            let line = format!("intent abandon {key} --supersede --reason stranded");
            let ran = self.world.run(&line);
            // One that has changed the target is ended as that.
            assert!(matches!(ran.code, Some(0 | 23)), "{}\n{ran:#?}", self.told);
        }
    }
}
