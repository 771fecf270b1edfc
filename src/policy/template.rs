//! Texts to start from: `policy template NAME` prints one, `init --starter-policy local` sets one.
//!
//! Owns the texts. Never sets a policy, and never grants by a claim: every rule rests on
//! `context.os_user`, which the operating system says.

/// A text to start from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// Its name, as `policy template` takes it.
    pub name: &'static str,
    /// What it is for, in a line.
    pub summary: &'static str,
    /// Cedar text with comments that teach.
    pub text: String,
}

/// Where the texts name the operating system's user.
const OS_USER: &str = "OS_USER";

const TEXTS: [(&str, &str, &str); 10] = [
    (
        "local",
        "services on the local actuator, up to 10 replicas",
        include_str!("templates/local.cedar"),
    ),
    (
        "kubernetes",
        "a namespace in daily use, with production guarded",
        include_str!("templates/kubernetes.cedar"),
    ),
    (
        "two-person",
        "everything is proposed by one and approved by another",
        include_str!("templates/two-person.cedar"),
    ),
    (
        "business-hours",
        "large steps only while people are at work",
        include_str!("templates/business-hours.cedar"),
    ),
    ("ci", "a pipeline that may raise and never empty", include_str!("templates/ci.cedar")),
    ("break-glass", "who may act in an emergency", include_str!("templates/break-glass.cedar")),
    (
        "rate-limit",
        "so many changes of one service an hour",
        include_str!("templates/rate-limit.cedar"),
    ),
    (
        "blast-radius",
        "so many services an hour, and a colleague for more",
        include_str!("templates/blast-radius.cedar"),
    ),
    ("window", "a maintenance window over midnight", include_str!("templates/window.cedar")),
    (
        "placement",
        "who may move environments between cells",
        include_str!("templates/placement.cedar"),
    ),
];

/// The starter policy `local` for one user of the operating system (ruling 7): services on a
/// `local` actuator up to 10 replicas; not `approve`, not `break_glass`.
pub fn starter(os_user: &str) -> String {
    filled(TEXTS[0].2, os_user)
}

/// Every text, written for one user of the operating system.
pub fn templates(os_user: &str) -> Vec<Template> {
    let texts = TEXTS.iter();
    let filled =
        texts.map(|&(name, summary, text)| Template { name, summary, text: filled(text, os_user) });
    filled.collect()
}

fn filled(text: &str, os_user: &str) -> String {
    // Rust's escapes of these characters are Cedar's too.
    text.replace(OS_USER, &os_user.escape_default().to_string())
}
