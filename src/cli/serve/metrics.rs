//! What a server has done so far, in the text that Prometheus reads.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

use super::told::is_fatal;
use crate::ops::OpError;

/// What became of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Became {
    Accepted,
    Replayed,
    Refused,
    Failed,
}

/// Where a service was found on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Went {
    Converged,
    Drifted,
    Failed,
    Later,
}

impl Became {
    const ALL: [Self; 4] = [Self::Accepted, Self::Replayed, Self::Refused, Self::Failed];

    pub(super) const fn of(error: &OpError) -> Self {
        match error {
            OpError::Gateway(_) | OpError::Rejected { .. } => Self::Refused,
            _ => Self::Failed,
        }
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Replayed => "replayed",
            Self::Refused => "refused",
            Self::Failed => "failed",
        }
    }
}

impl Went {
    const ALL: [Self; 4] = [Self::Converged, Self::Drifted, Self::Failed, Self::Later];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Converged => "converged",
            Self::Drifted => "drifted",
            Self::Failed => "failed",
            Self::Later => "later",
        }
    }
}

/// The counters of a server. They begin anew with it.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    operations: [AtomicU64; Became::ALL.len()],
    looks: [AtomicU64; Went::ALL.len()],
    /// By the first digit of their status, from 1 on.
    requests: [AtomicU64; 5],
    groups: AtomicU64,
    grouped: AtomicU64,
    commits_unknown: AtomicU64,
}

fn add(counter: &AtomicU64, count: u64) {
    counter.fetch_add(count, Ordering::Relaxed);
}

fn get(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

impl Metrics {
    pub(super) fn operation(&self, became: Became) {
        add(&self.operations[became as usize], 1);
    }

    pub(super) fn operations(&self, became: Became) -> u64 {
        get(&self.operations[became as usize])
    }

    pub(super) fn look(&self, went: Went) {
        add(&self.looks[went as usize], 1);
    }

    pub(super) fn looks(&self, went: Went) -> u64 {
        get(&self.looks[went as usize])
    }

    pub(super) fn request(&self, status: u16) {
        let class = usize::from(status / 100).clamp(1, 5) - 1;
        add(&self.requests[class], 1);
    }

    pub(super) fn requests(&self) -> u64 {
        self.requests.iter().map(get).sum()
    }

    pub(super) fn group(&self, operations: usize) {
        add(&self.groups, 1);
        add(&self.grouped, operations as u64);
    }

    pub(super) fn failure(&self, error: &OpError) {
        if is_fatal(error) {
            add(&self.commits_unknown, 1);
        }
    }

    /// The text of Prometheus, version 0.0.4.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        let mut family = |name: &str, help: &str, rows: &[(String, u64)]| {
            let _ = writeln!(text, "# HELP scalectl_{name} {help}");
            let _ = writeln!(text, "# TYPE scalectl_{name} counter");
            for (labels, count) in rows {
                let _ = writeln!(text, "scalectl_{name}{labels} {count}");
            }
        };
        let requests: Vec<_> = (1..=5)
            .zip(&self.requests)
            .map(|(class, count)| (format!("{{status=\"{class}xx\"}}"), get(count)))
            .collect();
        family("requests_total", "Requests that were answered.", &requests);
        let operations =
            Became::ALL.map(|it| (format!("{{outcome=\"{}\"}}", it.as_str()), self.operations(it)));
        family("operations_total", "Operations, by what became of them.", &operations);
        let one = |counter| [(String::new(), get(counter))];
        family("groups_total", "Transactions that operations shared.", &one(&self.groups));
        let grouped = one(&self.grouped);
        family("grouped_operations_total", "Operations that shared a transaction.", &grouped);
        let looks =
            Went::ALL.map(|it| (format!("{{outcome=\"{}\"}}", it.as_str()), self.looks(it)));
        family("convergence_looks_total", "Looks at services that are carried out.", &looks);
        let unknown = one(&self.commits_unknown);
        family("commits_unknown_total", "COMMITs of which nobody knows.", &unknown);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_counter_is_told_once_with_its_kind() {
        let metrics = Metrics::default();
        metrics.operation(Became::Accepted);
        metrics.request(200);
        metrics.request(404);
        metrics.group(7);
        metrics.look(Went::Later);
        let text = metrics.text();
        for line in [
            "scalectl_operations_total{outcome=\"accepted\"} 1",
            "scalectl_operations_total{outcome=\"failed\"} 0",
            "scalectl_requests_total{status=\"2xx\"} 1",
            "scalectl_requests_total{status=\"4xx\"} 1",
            "scalectl_groups_total 1",
            "scalectl_grouped_operations_total 7",
            "scalectl_convergence_looks_total{outcome=\"later\"} 1",
        ] {
            assert_eq!(text.lines().filter(|found| *found == line).count(), 1, "{line}: {text}");
        }
        let families = text.lines().filter(|line| line.starts_with("# TYPE ")).count();
        assert_eq!(text.lines().filter(|line| line.starts_with("# HELP ")).count(), families);
    }
}
