//! The routes: a request in, one JSON document out.
//!
//! Owns how a request is read, and within which bounds. Decides nothing about a service. A handler
//! that is dropped, because its client has hung up, takes nothing back: what it has handed over is
//! carried out.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc::{Sender, SyncSender};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, HttpBody as _};
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, Response, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::routing::get;
use tokio::sync::oneshot;

use super::converger::{Event, Followed, Waiter};
use super::metrics::Metrics;
use super::reader::{Ask, What};
use super::token::Token;
use super::told::{Follow, Told};
use crate::actuator::host::Deadline;
use crate::domain::gateway::{
    Code, OPERATION_BYTES_MAX, ScaleOperation, Undecodable, read_lenient,
};
use crate::domain::time::DurationMs;

/// One route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    /// Its path; `{service}` is any text, percent-encoded.
    pub path: &'static str,
    /// The methods that it takes.
    pub methods: &'static str,
}

const SCALE: Route = Route { path: "/v1/scale/{service}", methods: "GET, HEAD, POST" };
const HEALTH: Route = Route { path: "/healthz", methods: "GET, HEAD" };
const METRICS: Route = Route { path: "/metrics", methods: "GET, HEAD" };

/// Every route that is served.
pub const ROUTES: [Route; 3] = [SCALE, HEALTH, METRICS];

/// How long a body may take to come.
const BODY_WITHIN: Duration = Duration::from_secs(30);

/// What every handler has at hand.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) asks: SyncSender<Ask>,
    pub(super) events: Sender<Event>,
    pub(super) token: Option<Arc<Token>>,
    pub(super) metrics: Arc<Metrics>,
    /// How long an operation is followed before its client is told that it is not yet so.
    pub(super) follow_for: DurationMs,
}

/// Every route.
pub(super) fn router(shared: Shared) -> Router {
    let others = |route: Route| move || async move { not_allowed(route.methods) };
    Router::new()
        .route(SCALE.path, get(observe).post(apply).fallback(others(SCALE)))
        .route(HEALTH.path, get(health).fallback(others(HEALTH)))
        .route(METRICS.path, get(metrics).fallback(others(METRICS)))
        .fallback(no_such_route)
        .layer(from_fn_with_state(shared.clone(), guarded))
        .with_state(shared)
}

/// Asks for the token, except where nothing is told but that the server lives; and counts.
async fn guarded(State(shared): State<Shared>, request: Request, next: Next) -> Response<Body> {
    let is_open = request.uri().path() == "/healthz";
    let may = is_open || shared.token.as_ref().is_none_or(|it| it.is_shown(request.headers()));
    let response = if may {
        next.run(request).await
    } else {
        let text = "show the token of the server: Authorization: Bearer TOKEN";
        let mut response = response(Told::plain(401, "unauthorized", text));
        let challenge = header::HeaderValue::from_static("Bearer");
        response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        response
    };
    shared.metrics.request(response.status().as_u16());
    response
}

fn response(told: Told) -> Response<Body> {
    let mut response = Response::new(Body::from(told.body));
    *response.status_mut() =
        StatusCode::from_u16(told.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let json = header::HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

async fn no_such_route() -> Response<Body> {
    let paths = ROUTES.map(|route| route.path).join(", ");
    response(Told::plain(404, "no_such_route", &format!("there is {paths}")))
}

fn not_allowed(methods: &'static str) -> Response<Body> {
    let text = format!("this route takes {methods}");
    let mut response = response(Told::plain(405, "method_not_allowed", &text));
    response.headers_mut().insert(header::ALLOW, header::HeaderValue::from_static(methods));
    response
}

impl Shared {
    /// Asks the reader, and waits for the answer; whoever hangs up meanwhile has still asked.
    async fn ask(&self, what: What) -> Told {
        let (reply, told) = oneshot::channel();
        if self.asks.try_send(Ask { what, reply }).is_err() {
            return Told::busy();
        }
        told.await.unwrap_or_else(|_| Told::ended())
    }

    /// Waits until what was accepted came to be.
    async fn followed(&self, raw: String, follow: Follow, told: Told) -> Told {
        let Follow { service, key } = follow;
        let (reply, followed) = oneshot::channel();
        let waiter = Waiter { key, until: Deadline::after(self.follow_for), reply };
        let _ = self.events.send(Event::Wait { service, waiter });
        let message = match followed.await {
            Ok(Followed::Converged(None)) => return told,
            Ok(Followed::Converged(Some(answer))) => return Told::of(200, &answer),
            Ok(Followed::Failed(why)) => format!("accepted; {why}"),
            Err(_) => "accepted; the server is ending".to_owned(),
        };
        self.ask(What::Refuse { raw, code: Code::ReconcileFailed, message }).await
    }
}

type Named = Result<Path<String>, PathRejection>;

fn named(service: Named) -> Result<String, Told> {
    service.map(|Path(name)| name).map_err(|error| {
        Told::plain(400, "invalid_path", &format!("the name of the service: {error}"))
    })
}

async fn observe(State(shared): State<Shared>, service: Named) -> Response<Body> {
    let told = match named(service) {
        Ok(raw) => shared.ask(What::Observe { raw }).await,
        Err(told) => told,
    };
    response(told)
}

async fn apply(State(shared): State<Shared>, service: Named, request: Request) -> Response<Body> {
    let told = match operation_of(service, request).await {
        Ok((raw, operation)) if operation.service == raw => {
            let told = shared.ask(What::Apply { operation }).await;
            match told {
                Told { follow: Some(follow), status, body } => {
                    let told = Told { status, body, follow: None };
                    shared.followed(raw, follow, told).await
                }
                told => told,
            }
        }
        Ok((raw, _)) => {
            let message = "the operation is of another service than the one of the path";
            let (code, message) = (Code::ServiceMismatch, message.to_owned());
            shared.ask(What::Refuse { raw, code, message }).await
        }
        Err(told) => told,
    };
    response(told)
}

async fn operation_of(service: Named, request: Request) -> Result<(String, ScaleOperation), Told> {
    let raw = named(service)?;
    if !is_json(request.headers()) {
        let text = "an operation is sent with Content-Type: application/json";
        return Err(Told::plain(415, "unsupported_media_type", text));
    }
    let body = tokio::time::timeout(BODY_WITHIN, whole(request.into_body()));
    let Ok(body) = body.await else {
        return Err(Told::plain(408, "body_too_slow", "the body did not come in time"));
    };
    let operation = read_lenient(&body?, OPERATION_BYTES_MAX).map_err(|error| undecodable(&error));
    operation.map(|operation| (raw, operation))
}

fn undecodable(error: &Undecodable) -> Told {
    let code = match error {
        Undecodable::TooLong { .. } => "document_too_long",
        Undecodable::Syntax(_) => "document_syntax",
        Undecodable::Shape(_) => "document_shape",
    };
    Told::plain(error.status(), code, &error.to_string())
}

/// Whether a body says that it is JSON: `application/json` or `application/…+json`, whatever its
/// parameters.
fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default();
    let kind = kind.trim().to_ascii_lowercase();
    let below = kind.strip_prefix("application/").unwrap_or_default();
    below == "json" || below.strip_suffix("+json").is_some_and(|rest| !rest.is_empty())
}

/// The whole of a body, unless it is longer than an operation may be.
async fn whole(mut body: Body) -> Result<Vec<u8>, Told> {
    let mut bytes = Vec::new();
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        let frame = frame.map_err(|error| {
            Told::plain(400, "body_unreadable", &format!("the body did not come whole: {error}"))
        })?;
        if let Ok(data) = frame.into_data() {
            if bytes.len() + data.len() > OPERATION_BYTES_MAX {
                return Err(undecodable(&Undecodable::TooLong { max: OPERATION_BYTES_MAX }));
            }
            bytes.extend_from_slice(&data);
        }
    }
    Ok(bytes)
}

async fn health(State(shared): State<Shared>) -> Response<Body> {
    response(shared.ask(What::Health).await)
}

async fn metrics(State(shared): State<Shared>) -> Response<Body> {
    let mut response = Response::new(Body::from(shared.metrics.text()));
    let text = header::HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, text);
    response
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn a_body_says_that_it_is_json() {
        let says = |kind: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
            is_json(&headers)
        };
        for yes in ["application/json", "Application/JSON; charset=utf-8", "application/a.b+json"] {
            assert!(says(yes), "{yes}");
        }
        for no in ["", "text/json", "application/jsonp", "application/+json", "json", "a/b+json"] {
            assert!(!says(no), "{no}");
        }
        assert!(!is_json(&HeaderMap::new()));
    }
}
