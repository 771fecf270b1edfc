//! Which of some names is near to a word that is none of them.

/// How many letters may differ between what was typed and what was meant.
const DISTANCE_MAX: usize = 2;

/// The nearest of some names, if one is near.
pub fn nearest<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let near = names.into_iter().map(|name| (distance(word, name), name));
    let shorter = |name: &str| word.chars().count().min(name.chars().count());
    near.filter(|(far, name)| *far <= DISTANCE_MAX && *far < shorter(name))
        .min()
        .map(|(_, name)| name)
}

/// How many letters must be put in, left out or replaced.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.chars().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, right) in b.iter().enumerate() {
            let replaced = corner + usize::from(left != *right);
            corner = row[j + 1];
            row[j + 1] = replaced.min(corner + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_near() {
        let names = ["web", "worker", "batch"];
        for (word, meant) in [
            ("wbe", Some("web")),
            ("wob", Some("web")),
            ("workers", Some("worker")),
            ("bach", Some("batch")),
            ("db", None),
            ("", None),
            ("completely-else", None),
        ] {
            assert_eq!(nearest(word, names), meant, "{word}");
        }
    }
}
