//! HTTP: what supervisord's server answers, without its pages for browsers.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, Limited, StreamBody};
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use tokio::sync::watch;

use super::call;
use super::call::Log;
use super::follow::follow;
use super::front::Front;
use super::login::Login;
use super::peer::Peer;
use super::xml;

/// The longest request, in bytes.
const BODY: usize = 1 << 20;

/// How long a request may take to arrive.
const ARRIVAL: Duration = Duration::from_secs(10);

/// As much of a log as its last 1024 bytes may need, in lines.
const TAIL: u64 = 1024;

pub type Body = UnsyncBoxBody<Bytes, Infallible>;

/// What all connections share.
#[derive(Debug)]
pub struct Server {
    pub front: Arc<Front>,
    pub login: Option<Login>,
    /// True once the program is to end.
    pub ended: watch::Receiver<bool>,
}

/// Answers a request.
pub async fn answer(server: &Server, peer: &Peer, request: Request<Incoming>) -> Response<Body> {
    if let Some(login) = &server.login
        && !login.accepts(text(request.headers(), header::AUTHORIZATION))
    {
        let mut response = refusal(StatusCode::UNAUTHORIZED, "401 Unauthorized");
        let headers = response.headers_mut();
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"default\""));
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        return response;
    }
    if peer.tcp && !from_loopback(request.headers()) {
        return refusal(StatusCode::BAD_REQUEST, "the Host must be a loopback address");
    }
    let path = request.uri().path();
    match (request.method(), path) {
        (&Method::POST, path) if path.starts_with("/RPC2") => call(server, peer, request).await,
        (&Method::GET, path) if path.starts_with("/mainlogtail") => tail(server, &Log::Main).await,
        (&Method::GET, path) if path.starts_with("/logtail/") => match log_of(path) {
            Some(log) => tail(server, &log).await,
            None => refusal(StatusCode::NOT_FOUND, "not found"),
        },
        (_, path) if ["/RPC2", "/logtail", "/mainlogtail"].iter().any(|known| path.starts_with(known)) => {
            refusal(StatusCode::BAD_REQUEST, "bad request")
        }
        _ => refusal(StatusCode::NOT_FOUND, "not found"),
    }
}

/// A call by XML-RPC. Faults are answers as well.
async fn call(server: &Server, peer: &Peer, request: Request<Incoming>) -> Response<Body> {
    // A page in a browser can post to a port of the machine it is shown on, but not with this type.
    let is_xml = text(request.headers(), header::CONTENT_TYPE).is_some_and(|value| {
        value.split(';').next().is_some_and(|of| ["text/xml", "application/xml"].contains(&of.trim()))
    });
    if peer.tcp && !is_xml {
        return refusal(StatusCode::BAD_REQUEST, "the Content-Type must be text/xml");
    }
    let has_length =
        [header::CONTENT_LENGTH, header::TRANSFER_ENCODING].iter().any(|name| request.headers().contains_key(name));
    if !has_length {
        return refusal(StatusCode::LENGTH_REQUIRED, "length required");
    }
    if request.body().size_hint().lower() > BODY as u64 {
        return refusal(StatusCode::PAYLOAD_TOO_LARGE, "the request is too long");
    }
    let body = match tokio::time::timeout(ARRIVAL, Limited::new(request.into_body(), BODY).collect()).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => {
            return refusal(StatusCode::PAYLOAD_TOO_LARGE, "the request is too long");
        }
        Ok(Err(_)) => return refusal(StatusCode::BAD_REQUEST, "bad request"),
        Err(_) => return refusal(StatusCode::REQUEST_TIMEOUT, "the request did not arrive in time"),
    };
    let request = match xml::read(&body) {
        Ok(request) => request,
        Err(why) => return refusal(StatusCode::BAD_REQUEST, why.0),
    };
    let outcome = match call::read(request) {
        Ok(call) => server.front.answer(call, peer).await,
        Err(fault) => Err(fault),
    };
    let text = match outcome {
        Ok(value) => xml::answer(&value),
        Err(fault) => xml::fault(fault.number(), &fault.text()),
    };
    response(StatusCode::OK, "text/xml", text)
}

/// The log of `/logtail/NAME[/CHANNEL]`.
fn log_of(path: &str) -> Option<Log> {
    let rest = path.strip_prefix("/logtail/")?;
    let (name, channel) = rest.split_once('/').unwrap_or((rest, "stdout"));
    let name = unquoted(name)?;
    match channel {
        "stdout" => Some(Log::Stdout(name)),
        "stderr" => Some(Log::Stderr(name)),
        _ => None,
    }
}

/// With `%3A` as the character that it stands for.
fn unquoted(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        if *byte != b'%' {
            bytes.push(*byte);
            continue;
        }
        let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &rest[2..];
    }
    String::from_utf8(bytes).ok()
}

/// A log as it grows.
async fn tail(server: &Server, log: &Log) -> Response<Body> {
    let Ok(source) = server.front.source(log).await else { return refusal(StatusCode::NOT_FOUND, "not found") };
    let child = match source.map(|source| source.follow(server.front.scope(), TAIL)).transpose() {
        Ok(child) => child,
        Err(_) => return refusal(StatusCode::INTERNAL_SERVER_ERROR, "cannot execute journalctl"),
    };
    let body = StreamBody::new(follow(child, server.ended.clone()));
    let mut response = Response::new(body.boxed_unsync());
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain;charset=utf-8"));
    // A proxy must not hold back what comes.
    headers.insert("X-Accel-Buffering", HeaderValue::from_static("no"));
    response
}

fn refusal(status: StatusCode, why: &'static str) -> Response<Body> {
    response(status, "text/plain", format!("{why}\n"))
}

fn response(status: StatusCode, of: &'static str, body: String) -> Response<Body> {
    let mut response = Response::new(Full::from(body).boxed_unsync());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(of));
    response
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

/// Whether the `Host` is this machine's: a name could be one that a web page had resolved to 127.0.0.1.
fn from_loopback(headers: &HeaderMap) -> bool {
    let Some(host) = text(headers, header::HOST) else { return false };
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']').map(|(name, _)| name),
        None => host.split(':').next(),
    };
    name.is_some_and(|name| name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_a_log() {
        assert_eq!(log_of("/logtail/web%3Aweb_1"), Some(Log::Stdout("web:web_1".to_owned())));
        assert_eq!(log_of("/logtail/web:web_1/stderr"), Some(Log::Stderr("web:web_1".to_owned())));
        for path in ["/logtail/a/x", "/logtail/a/stdout/x", "/logtail/%", "/logtail/%zz", "/logtail/%ff"] {
            assert_eq!(log_of(path), None, "{path}");
        }
    }

    #[test]
    fn only_a_loopback_host_is_taken_by_tcp() {
        let accepts =
            |host: &'static str| from_loopback(&HeaderMap::from_iter([(header::HOST, HeaderValue::from_static(host))]));
        for host in ["localhost", "localhost:9001", "127.0.0.1:9001", "[::1]:9001"] {
            assert!(accepts(host), "{host}");
        }
        for host in ["", "example.com", "127.0.0.1.example.com", "10.0.0.1:9001", "[::2]"] {
            assert!(!accepts(host), "{host}");
        }
        assert!(!from_loopback(&HeaderMap::new()));
    }
}
