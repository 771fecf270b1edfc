//! HTTP/1.1 without encryption, as much of it as the API server of the test needs.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// A status of the API and its document.
pub(super) type Answer = (u16, Value);

pub(super) struct Request {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) agent: String,
    pub(super) body: Value,
}

pub(super) fn hang(mut stream: &TcpStream) {
    // It ends when the client has gone.
    let _ = stream.set_read_timeout(Some(Duration::from_mins(1)));
    let _ = stream.read(&mut [0; 1]);
}

pub(super) fn close(stream: &TcpStream) {
    let _ = stream.shutdown(Shutdown::Both);
}

pub(super) fn respond(mut stream: &TcpStream, (code, document): &Answer) {
    let body = document.to_string();
    let head = format!(
        "HTTP/1.1 {code} Answer\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    // Who has gone meanwhile needs no answer.
    let _ = stream.write_all(format!("{head}{body}").as_bytes());
}

pub(super) fn read_request(reader: &mut BufReader<&TcpStream>) -> Option<Request> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|bytes| *bytes > 0)?;
    let mut words = line.split_whitespace();
    let method = words.next()?.to_owned();
    let path = words.next()?.split('?').next()?.to_owned();
    let (mut length, mut agent) = (0, String::new());
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim().split_once(": ") else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().ok()?,
            "user-agent" => value.clone_into(&mut agent),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Request { method, path, agent, body: serde_json::from_slice(&body).unwrap_or_default() })
}
