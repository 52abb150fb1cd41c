//! Accepts connections on the sockets that systemd hands over, until nobody has been connected for a while.

use std::cell::Cell;
use std::convert::Infallible;
use std::io;
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hyper::body::Body as _;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rustix::net::AddressFamily;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, UnixListener};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use super::http;
use super::http::Server;
use super::peer::Peer;
use crate::basic::scope::Scope;

/// The most connections at the same time; others wait to be accepted.
const CONNECTIONS: usize = 64;

/// The longest head of a request, in bytes.
const HEAD: usize = 16 << 10;

/// How long the head of a request may take to arrive, from its first byte on. Between requests a connection may be idle
/// for ever: the client of supervisord does not connect again.
const ARRIVAL: Duration = Duration::from_secs(10);

/// A socket that systemd listens on.
pub enum Listener {
    Unix(UnixListener),
    Tcp(TcpListener),
}

impl Listener {
    /// The sockets of sd_listen_fds(3).
    ///
    /// # Errors
    /// There are none; one is of another family.
    pub fn all() -> io::Result<Vec<Self>> {
        let mut listeners = Vec::new();
        for fd in sd_notify::listen_fds()? {
            #[allow(unsafe_code)]
            // SAFETY: systemd opened it for this process, and nothing else here uses it.
            let fd = unsafe { OwnedFd::from_raw_fd(fd) };
            listeners.push(Self::new(fd)?);
        }
        match listeners.is_empty() {
            true => Err(io::Error::other("no socket was handed over: systemd starts this by copse-supervisor@.socket")),
            false => Ok(listeners),
        }
    }

    fn new(fd: OwnedFd) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&fd, true)?;
        match rustix::net::getsockname(&fd)?.address_family() {
            AddressFamily::UNIX => UnixListener::from_std(fd.into()).map(Self::Unix),
            AddressFamily::INET | AddressFamily::INET6 => TcpListener::from_std(fd.into()).map(Self::Tcp),
            _ => Err(io::Error::other("a socket of an unknown address family")),
        }
    }

    pub fn is_tcp(&self) -> bool {
        matches!(self, Self::Tcp(_))
    }
}

/// Serves connections, on tasks of this thread, until none has been open for `idle` and no process of the group is a client,
/// or SIGTERM comes; the answers in progress are finished.
///
/// # Errors
/// Signals cannot be received.
pub async fn serve(
    listeners: Vec<Listener>,
    server: Server,
    end: watch::Sender<bool>,
    scope: Scope,
    idle: Duration,
) -> io::Result<()> {
    let server = Arc::new(server);
    let mut terminate = signal(SignalKind::terminate())?;
    let mut connections = JoinSet::new();
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    let mut ended = end.subscribe();
    loop {
        let is_idle = connections.is_empty();
        tokio::select! {
            accepted = accept(&listeners, &room, scope) => match accepted {
                Ok((stream, peer, permit)) => {
                    let (server, ended) = (Arc::clone(&server), end.subscribe());
                    connections.spawn_local(async move {
                        connection(stream, peer, server, ended).await;
                        drop(permit);
                    });
                }
                // The client is gone, or there is no descriptor left for it.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            },
            Some(_) = connections.join_next(), if !is_idle => {}
            () = tokio::time::sleep(idle), if is_idle => {
                if !server.front.has_running_client().await {
                    break;
                }
            }
            _ = terminate.recv() => break,
        }
    }
    end.send_replace(true);
    let _ = ended.wait_for(|ended| *ended).await;
    while connections.join_next().await.is_some() {}
    Ok(())
}

/// A connection of either family.
trait Stream: AsyncRead + AsyncWrite + Unpin {}
impl<S: AsyncRead + AsyncWrite + Unpin> Stream for S {}

/// When the request began to arrive that is not answered yet.
#[derive(Debug, Default)]
struct Arrival {
    began: Cell<Option<Instant>>,
    answers: Cell<bool>,
}

impl Arrival {
    /// A request is being answered, or no more.
    fn answers(&self, answers: bool) {
        self.answers.set(answers);
        self.began.set(None);
    }

    /// Bytes came. A client of supervisord sends more line ends than there should be.
    fn read(&self, bytes: &[u8]) {
        if !self.answers.get() && self.began.get().is_none() && bytes.iter().any(|byte| !b"\r\n".contains(byte)) {
            self.began.set(Some(Instant::now()));
        }
    }

    async fn is_late(&self) {
        while self.began.get().is_none_or(|began| began.elapsed() < ARRIVAL) {
            tokio::time::sleep(ARRIVAL / 10).await;
        }
    }
}

/// A connection of which it is noted when something is read.
struct Timed {
    stream: Box<dyn Stream>,
    arrival: Rc<Arrival>,
}

impl AsyncRead for Timed {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let poll = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.arrival.read(&buffer.filled()[before..]);
        poll
    }
}

impl AsyncWrite for Timed {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// The next connection, once there is room for it.
async fn accept(
    listeners: &[Listener],
    room: &Arc<Semaphore>,
    scope: Scope,
) -> io::Result<(Box<dyn Stream>, Peer, tokio::sync::OwnedSemaphorePermit)> {
    let permit = Arc::clone(room).acquire_owned().await.map_err(io::Error::other)?;
    let each = listeners.iter().map(|listener| Box::pin(one(listener, scope)));
    let (accepted, _, _) = futures_util::future::select_all(each).await;
    let (stream, peer) = accepted?;
    Ok((stream, peer, permit))
}

async fn one(listener: &Listener, scope: Scope) -> io::Result<(Box<dyn Stream>, Peer)> {
    match listener {
        Listener::Unix(listener) => {
            let (stream, _) = listener.accept().await?;
            let cred = stream.peer_cred()?;
            Ok((Box::new(stream), Peer::local(cred.uid(), cred.pid(), scope)))
        }
        Listener::Tcp(listener) => {
            let (stream, _) = listener.accept().await?;
            Ok((Box::new(stream), Peer { tcp: true, ..Peer::default() }))
        }
    }
}

async fn connection(stream: Box<dyn Stream>, peer: Peer, server: Arc<Server>, mut ended: watch::Receiver<bool>) {
    let arrival = Rc::new(Arrival::default());
    let service = service_fn(|request| {
        let (server, peer, arrival) = (&server, &peer, &arrival);
        async move {
            arrival.answers(true);
            let response = http::answer(server, peer, request).await;
            // A log that is followed is answered until the connection ends.
            arrival.answers(response.body().size_hint().exact().is_none());
            Ok::<_, Infallible>(response)
        }
    });
    let stream = Timed { stream, arrival: Rc::clone(&arrival) };
    let connection = http1::Builder::new()
        .max_buf_size(HEAD)
        // A client may close its side once it has sent its request.
        .half_close(true)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    tokio::select! {
        _ = connection.as_mut() => return,
        () = arrival.is_late() => return,
        _ = ended.wait_for(|ended| *ended) => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = connection.await;
}
