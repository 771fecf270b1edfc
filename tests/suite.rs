//! t
#[test]
fn x() {
    for m in [253_402_207_200_999_999i64, 0, -62_135_596_800_000_000] {
        let r = jiff::Timestamp::from_microsecond(m);
        eprintln!(
            "{:?} {:?}",
            r,
            r.as_ref().map(|t| {
                use std::fmt::Write;
                let mut s = String::new();
                let a = write!(s, "{t:.6}");
                (a, s)
            })
        );
    }
}
