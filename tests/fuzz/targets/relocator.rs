//! The relocator protocol: what a relocator is asked, and what it answers.

use scalectl::domain::placement::protocol::{OPS, Reply, Request, read_reply};

/// What is read goes out and in again.
pub fn request(data: &[u8]) -> bool {
    let Ok(request) = Request::read(data) else { return false };
    assert_eq!(Request::read(request.to_json().as_bytes()), Ok(request.clone()));
    assert!(OPS.contains(&request.op()));
    true
}

/// A receipt is one of what was asked, and nothing else is taken for it.
pub fn answer(data: &[u8]) -> bool {
    let taken: Vec<_> =
        OPS.iter().filter_map(|op| Some((*op, read_reply(data, op).ok()?))).collect();
    let Some((_, first)) = taken.first() else { return false };
    match first {
        Reply::Done(_) => assert_eq!(taken.len(), 1, "a receipt is about one operation"),
        Reply::Refused(_) => assert_eq!(taken.len(), OPS.len(), "a refusal about any"),
    }
    for (op, reply) in &taken {
        assert_eq!(read_reply(reply.to_json().as_bytes(), op).as_ref(), Ok(reply));
    }
    true
}
