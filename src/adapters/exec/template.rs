//! Command templates: words with members of the typed target and the wish in braces.
//!
//! Every value is an identifier or a number, so none can be read as an option, as a quote or as
//! anything else by a shell. `{{` and `}}` are braces.

use std::str::FromStr;

use crate::actuator::protocol::PartialTarget;
use crate::domain::scale::result::ActuationRequest;

/// What may stand in braces. The last two are known to the apply command only.
const PLACEHOLDERS: [&str; 7] = [
    "cluster_id",
    "runtime_id",
    "workload_id",
    "target_uid",
    "target_resource_version",
    "desired_replicas",
    "execution_key",
];

/// The placeholders of an inspect command: the target only.
const TARGET_PLACEHOLDERS: usize = 5;

/// Why a text is no command template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// No word.
    #[error("a command has at least one word")]
    Empty,
    /// A quote that is not closed, or a backslash with nothing after it.
    #[error("the command {0:?} ends inside a quotation")]
    OpenQuote(String),
    /// A brace that is not closed, or one that closes nothing.
    #[error("{0:?} has a lone brace; write {{{{ or }}}} for a brace itself")]
    LoneBrace(String),
    /// Something in braces that nobody knows.
    #[error("{{{found}}} is not known here; known are {}", known_text(known))]
    Unknown {
        /// What stands in the braces.
        found: String,
        /// What may stand there.
        known: &'static [&'static str],
    },
}

fn known_text(known: &[&str]) -> String {
    known.iter().map(|name| format!("{{{name}}}")).collect::<Vec<_>>().join(" ")
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    /// An index into [`PLACEHOLDERS`].
    Value(usize),
}

/// A command line whose values are filled in at each call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    words: Vec<Vec<Piece>>,
}

impl Template {
    /// A command that sets the count. With `shell` it is one line for a shell, else it is split
    /// into words, where quotes and backslashes hold words together as a shell would.
    pub fn apply(text: &str, shell: bool) -> Result<Self, TemplateError> {
        Self::parse(text, shell, &PLACEHOLDERS)
    }

    /// A command that reads the count: it knows the target only.
    pub fn inspect(text: &str, shell: bool) -> Result<Self, TemplateError> {
        Self::parse(text, shell, &PLACEHOLDERS[..TARGET_PLACEHOLDERS])
    }

    fn parse(
        text: &str,
        shell: bool,
        known: &'static [&'static str],
    ) -> Result<Self, TemplateError> {
        let words = if shell { vec![text.to_owned()] } else { split_words(text)? };
        if words.first().is_none_or(|word| word.trim().is_empty()) {
            return Err(TemplateError::Empty);
        }
        let words = words.iter().map(|word| pieces(word, known)).collect::<Result<_, _>>()?;
        Ok(Self { words })
    }

    /// The words with their values; the name of the first value that is missing otherwise.
    pub(super) fn filled(&self, values: &Values) -> Result<Vec<String>, &'static str> {
        let fill = |piece: &Piece| match piece {
            Piece::Text(text) => Ok(text.clone()),
            Piece::Value(at) => values.0[*at].clone().ok_or(PLACEHOLDERS[*at]),
        };
        self.words.iter().map(|word| word.iter().map(fill).collect()).collect()
    }
}

/// The values of one call, in the order of [`PLACEHOLDERS`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Values([Option<String>; PLACEHOLDERS.len()]);

impl Values {
    pub(super) fn of_target(target: &PartialTarget) -> Self {
        Self([
            target.cluster_id.as_ref().map(ToString::to_string),
            target.runtime_id.as_ref().map(ToString::to_string),
            Some(target.workload_id.to_string()),
            target.target_uid.as_ref().map(ToString::to_string),
            target.target_resource_version.as_ref().map(ToString::to_string),
            None,
            None,
        ])
    }

    pub(super) fn of_apply(request: &ActuationRequest) -> Self {
        let mut values = Self::of_target(&PartialTarget::from(&request.target));
        values.0[TARGET_PLACEHOLDERS] = Some(request.desired_replicas.to_string());
        values.0[TARGET_PLACEHOLDERS + 1] = Some(request.execution_key.to_string());
        values
    }
}

impl FromStr for Template {
    type Err = TemplateError;
    fn from_str(text: &str) -> Result<Self, TemplateError> {
        Self::apply(text, false)
    }
}

/// Splits as a shell splits, and does nothing else that a shell does.
fn split_words(text: &str) -> Result<Vec<String>, TemplateError> {
    let open = || TemplateError::OpenQuote(text.to_owned());
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(mark), _) if character == mark => quote = None,
            (None | Some('"'), '\\') => {
                let escaped = characters.next().ok_or_else(open)?;
                word.get_or_insert_default().push(escaped);
            }
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, _) if character.is_whitespace() => words.extend(word.take()),
            (_, _) => word.get_or_insert_default().push(character),
        }
    }
    if quote.is_some() {
        return Err(open());
    }
    words.extend(word);
    Ok(words)
}

fn pieces(word: &str, known: &'static [&'static str]) -> Result<Vec<Piece>, TemplateError> {
    let lone = || TemplateError::LoneBrace(word.to_owned());
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut rest = word;
    while let Some(at) = rest.find(['{', '}']) {
        text.push_str(&rest[..at]);
        let tail = &rest[at..];
        if let Some(after) = tail.strip_prefix("{{") {
            text.push('{');
            rest = after;
        } else if let Some(after) = tail.strip_prefix("}}") {
            text.push('}');
            rest = after;
        } else {
            let inner = tail.strip_prefix('{').ok_or_else(lone)?;
            let (name, after) = inner.split_once('}').ok_or_else(lone)?;
            let index = known.iter().position(|known| *known == name);
            let unknown = || TemplateError::Unknown { found: name.to_owned(), known };
            pieces.push(Piece::Text(std::mem::take(&mut text)));
            pieces.push(Piece::Value(index.ok_or_else(unknown)?));
            rest = after;
        }
    }
    text.push_str(rest);
    pieces.push(Piece::Text(text));
    Ok(pieces)
}
