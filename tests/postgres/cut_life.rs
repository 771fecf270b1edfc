//! The connection is cut under a batch, and under what changes the ledger itself: every answer is
//! true, at most one place takes writes, and the same line again ends it well.

use std::path::PathBuf;

use super::cuts::{Cut, Cuts, events, plans, untrue};
use super::proxy::{Plan, Proxy};
use super::with_fake;
use crate::crash::in_parallel;
use crate::support::postgres::Cluster;
use crate::support::{Ran, SERVICE, World};

/// What is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    /// A line that changes the ledger of the world.
    Line(&'static str),
    /// A batch with a line that is refused, first, last and in the middle.
    Batch,
    /// The world's ledger moves to a file.
    ToFile,
    /// A ledger in a file moves to a server.
    ToServer,
}

/// One run through a proxy.
struct Run {
    world: World,
    proxy: Proxy,
    ran: Ran,
    line: String,
}

impl What {
    fn world(self) -> World {
        let world = match self {
            Self::ToServer => {
                let world = World::on_sqlite();
                world.init_fake();
                world.run(&format!("{SERVICE} --backoff 0s")).exits(0);
                world
            }
            _ => with_fake(),
        };
        if self == Self::Batch {
            world.run(&format!("{} --backoff 0s", SERVICE.replace("web", "api"))).exits(0);
            world.write("lines.jsonl", BATCH.join("\n"));
        }
        world.write("other.cedar", "@id(\"other\")\npermit(principal, action, resource);\n");
        world
    }

    /// Runs it in a copy of a world.
    fn run(self, world: &World, plan: Option<Plan>) -> Run {
        let mut copy = world.copy();
        let proxy = Proxy::start(&Cluster::shared().socket(), plan);
        let target = World::on_postgres();
        let line = match self {
            Self::Line(line) => format!("-o json --lock-timeout 1s {line}"),
            Self::Batch => "-o ndjson --lock-timeout 1s batch --file lines.jsonl".to_owned(),
            Self::ToFile => {
                "-o json --lock-timeout 1s ledger copy --to moved.db --reason r".to_owned()
            }
            Self::ToServer => format!(
                "-o json --lock-timeout 1s ledger copy --to {} --reason r",
                proxy.address(target.schema().name())
            ),
        };
        copy.set("SCALECTL_TEST_STATEMENT_TIMEOUT_MS", "1000");
        let direct = (self != Self::ToServer).then(|| copy.schema().address());
        if direct.is_some() {
            copy.set("SCALECTL_LEDGER", proxy.address(copy.schema().name()));
        }
        let ran = copy.run(&line);
        if let Some(direct) = direct {
            copy.set("SCALECTL_LEDGER", direct);
        }
        proxy.heal();
        Run { world: copy, proxy, ran, line }
    }

    /// How many events its source has.
    fn events(self, world: &World) -> usize {
        if self == Self::ToServer { world.events() } else { events(world) }
    }
}

const BATCH: [&str; 5] = [
    r#"{"command":["intent","withdraw","nosuch1"]}"#,
    r#"{"command":["intent","put","web","--replicas","3","--key","k1","--reason","r"]}"#,
    r#"{"command":["intent","put","web","--replicas","99","--key","k2","--reason","r"]}"#,
    r#"{"command":["intent","put","api","--replicas","4","--key","k3","--reason","r"]}"#,
    r#"{"command":["intent","put","api","--replicas","99","--key","k4","--reason","r"]}"#,
];

impl Run {
    /// What is untrue in the answers of a batch: each line says whether its key is there.
    fn untrue_in_batch(&self) -> Option<String> {
        let keys = self.world.sql("SELECT execution_key FROM execution");
        for (key, at) in [("k1", 1), ("k3", 3)] {
            let is_there = keys.lines().any(|line| line == key);
            let answer = self.ran.stdout.lines().nth(at).map(serde_json::from_str);
            let answer: Option<serde_json::Value> = answer.map(|read| read.expect("JSON"));
            let said = answer.as_ref().map(|it| it["recorded"].as_str().expect("a word"));
            let is_true = match said {
                Some("yes") => is_there,
                Some("no") | None => !is_there,
                Some(_) => self.ran.code == Some(16),
            };
            if !is_true {
                return Some(format!("{key} is there: {is_there}: {:#?}", self.ran));
            }
        }
        None
    }

    /// The places that take a write now, of the source and the target; asked of copies.
    fn writable(&self, places: &[String]) -> usize {
        let put = |place: &&String| {
            let line = format!("--ledger {place} service put web --max 7");
            self.world.run(&line).code == Some(0)
        };
        places.iter().filter(put).count()
    }

    /// The same line again ends it well.
    fn converges(&self, what: What) -> Option<String> {
        let line = match what {
            What::Batch | What::Line(_) => self.line.clone(),
            What::ToFile | What::ToServer => {
                // At most one of the two, also before it goes on.
                let target = self.target(what);
                let source = match what {
                    What::ToServer => self.world.ledger().display().to_string(),
                    _ => self.world.schema().address(),
                };
                let places = [source.clone(), target.clone()];
                let there = self.writable(&places);
                if there > 1 {
                    return Some(format!("{there} of {places:?} take writes: {:#?}", self.ran));
                }
                let ended = self.world.run(&self.line);
                let sealed = self.world.run(&format!("--ledger {source} service put web --max 5"));
                let opened = self.world.run(&format!("--ledger {target} service put web --max 5"));
                let sound = self.world.run(&format!("--ledger {target} verify"));
                let codes = [ended.code, sealed.code, opened.code, sound.code];
                let is_well = codes == [Some(0), Some(21), Some(0), Some(0)];
                return (!is_well)
                    .then(|| format!("{ended:#?} {sealed:#?} {opened:#?} {sound:#?}"));
            }
        };
        let again = self.world.run(&line);
        let sound = self.world.run("verify");
        let expected = if what == What::Batch { [Some(2), Some(24)] } else { [Some(0), Some(0)] };
        let is_well = expected.contains(&again.code) && sound.code == Some(0);
        (!is_well).then(|| format!("{again:#?} {sound:#?}"))
    }

    fn target(&self, what: What) -> String {
        let file: PathBuf = self.world.path("moved.db");
        let words: Vec<&str> = self.line.split(' ').collect();
        let at = words.iter().position(|word| *word == "--to");
        match what {
            What::ToServer => at.map(|at| words[at + 1].to_owned()).expect("a target"),
            _ => file.display().to_string(),
        }
    }
}

#[test]
fn whatever_is_cut_of_a_life_the_answer_is_true_and_it_ends_well() {
    let mut all = Vec::new();
    for what in [
        What::Batch,
        What::Line("policy put other.cedar --reason r"),
        What::Line("restore --in-place --reason r"),
        What::ToFile,
        What::ToServer,
    ] {
        let world = what.world();
        let before = what.events(&world);
        let run = what.run(&world, None);
        assert!(run.ran.code == Some(0) || what == What::Batch, "{:#?}", run.ran);
        let whole = what.events(&run.world);
        assert!(whole > before, "{what:?} writes");
        let plans = plans(&run.proxy.seen(), "");
        assert!(plans.iter().any(|plan| !plan.comes_back), "{what:?}: no COMMIT was seen");
        let world = std::sync::Arc::new(world);
        all.extend(plans.into_iter().map(|plan| (world.clone(), what, before, whole, plan)));
    }
    let cuts = in_parallel(all, |(world, what, before, whole, plan)| {
        let run = what.run(&world, Some(plan));
        let found = match what {
            What::Batch => run.untrue_in_batch(),
            What::ToServer => None,
            What::Line(_) | What::ToFile => untrue(before, whole, &run.world, &run.ran),
        };
        let (has_struck, code) = (run.proxy.has_struck(), run.ran.code);
        let wrong = found.into_iter().chain(run.converges(what));
        let wrong = wrong.map(|why| format!("{what:?}, {plan:?}: {why}")).collect();
        Cut { has_struck, is_unknown: code == Some(16), code, wrong }
    });
    let Cuts { count, struck, resolved, unknown } = Cuts::of(&cuts);
    assert!(struck * 10 >= count * 8, "only {struck} of {count} cuts were made");
    assert!(resolved >= 5, "a lost answer is looked into");
    assert!(unknown >= 5, "what cannot be looked into is unknown");
}
