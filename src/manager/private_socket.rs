//! The manager's private socket, for zbus.
//!
//! zbus insists on a rule of the D-Bus specification for buses: the sender of a message is a unique name, as `:1.7`. systemd
//! writes `org.freedesktop.systemd1` there on its private connections, where no bus assigns unique names, and zbus closes the
//! connection. So this replaces the name's first letter by a colon: `:rg.freedesktop.systemd1` is a valid unique name of the
//! same length, and is not used for anything.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;

use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use zbus::connection::socket::{ReadHalf, Socket, Split, WriteHalf};
use zbus::export::async_trait::async_trait;

/// The bytes of a message before its header fields (D-Bus specification, "Message Format").
const FIXED: usize = 16;

/// The largest message that D-Bus allows.
const LARGEST: usize = 128 * 1024 * 1024;

/// The header field that holds the sender.
const SENDER: u8 = 7;

/// A connected private socket, to be handed to zbus.
#[derive(Debug)]
pub struct PrivateSocket(UnixStream);

impl PrivateSocket {
    /// Connects to the socket at `path`. Needs a running tokio runtime.
    ///
    /// # Errors
    /// As connect(2).
    pub async fn connect(path: &Path) -> io::Result<Self> {
        UnixStream::connect(path).await.map(Self)
    }
}

impl Socket for PrivateSocket {
    type ReadHalf = Reader;
    type WriteHalf = Writer;

    fn split(self) -> Split<Reader, Writer> {
        let (read, write) = self.0.into_split();
        let reader = Reader { socket: read, received: Vec::new(), ready: 0, taken: 0 };
        Split::new(reader, Writer(write))
    }
}

/// zbus reads from this. `received` holds, in this order: bytes that it has read, bytes that are ready, and the beginning of
/// a message that is not complete yet.
#[derive(Debug)]
pub struct Reader {
    socket: OwnedReadHalf,
    received: Vec<u8>,
    ready: usize,
    taken: usize,
}

#[async_trait]
impl ReadHalf for Reader {
    async fn recvmsg(&mut self, buffer: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
        while self.taken == self.ready {
            self.received.drain(..self.taken);
            self.taken = 0;
            self.ready = release(&mut self.received)?;
            if self.ready == 0 && self.fill().await? == 0 {
                return Ok((0, Vec::new()));
            }
        }
        let some = buffer.len().min(self.ready - self.taken);
        let from = self.taken;
        self.taken += some;
        for (to, byte) in buffer.iter_mut().zip(self.received.iter().skip(from)) {
            *to = *byte;
        }
        Ok((some, Vec::new()))
    }
}

impl Reader {
    async fn fill(&mut self) -> io::Result<usize> {
        let mut chunk = [0; 8192];
        loop {
            self.socket.readable().await?;
            match self.socket.try_read(&mut chunk) {
                Ok(length) => {
                    self.received.extend(chunk.iter().take(length));
                    return Ok(length);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// zbus writes to this.
#[derive(Debug)]
pub struct Writer(OwnedWriteHalf);

#[async_trait]
impl WriteHalf for Writer {
    async fn sendmsg(&mut self, buffer: &[u8], _: &[BorrowedFd<'_>]) -> io::Result<usize> {
        loop {
            self.0.writable().await?;
            match self.0.try_write(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                other => return other,
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        // Dropping the halves closes the socket.
        Ok(())
    }
}

/// How many bytes at the front of `received` are whole lines of the handshake and whole messages. Mends the senders of these
/// messages.
fn release(received: &mut [u8]) -> io::Result<usize> {
    let mut ready = 0;
    while let Some(rest) = received.get_mut(ready..) {
        let length = match rest.first() {
            None => break,
            // A message in this machine's byte order. Lines of the handshake begin with other letters: the one with a B is
            // the client's.
            Some(b'l' | b'B') => match message_length(rest)? {
                Some(length) if length <= rest.len() => length,
                _ => break,
            },
            Some(_) => match rest.windows(2).position(|pair| pair == b"\r\n") {
                Some(end) => end + 2,
                None => break,
            },
        };
        if let Some(message) = rest.get_mut(..length) {
            mend_sender(message);
        }
        ready += length;
    }
    Ok(ready)
}

/// A message's whole length, if enough of it is there.
fn message_length(bytes: &[u8]) -> io::Result<Option<usize>> {
    let (Some(body), Some(fields)) = (number(bytes, 4), number(bytes, 12)) else {
        return Ok(None);
    };
    let length = (FIXED + fields).checked_next_multiple_of(8).and_then(|header| header.checked_add(body));
    match length {
        Some(length) if length <= LARGEST => Ok(Some(length)),
        _ => Err(io::Error::new(io::ErrorKind::InvalidData, "a message is longer than D-Bus allows")),
    }
}

/// Makes a unique name of the sender's name. Fields are aligned to eight bytes: a code, a signature, a value.
fn mend_sender(message: &mut [u8]) {
    let Some(fields) = number(message, 12) else {
        return;
    };
    let mut at = FIXED;
    while at < FIXED + fields {
        // Code, length of the signature (always 1 in a header), signature, NUL: the value is aligned to four bytes.
        let (Some(&code), Some(&kind)) = (message.get(at), message.get(at + 2)) else {
            return;
        };
        let value = at + 4;
        let length = match kind {
            b's' | b'o' => number(message, value).map(|text| 4 + text + 1),
            b'u' => Some(4),
            b'g' => message.get(value).map(|&text| 1 + usize::from(text) + 1),
            _ => None,
        };
        if code == SENDER {
            if let Some(first) = message.get_mut(value + 4) {
                *first = b':';
            }
            return;
        }
        let Some(length) = length else {
            return;
        };
        at = (value + length).next_multiple_of(8);
    }
}

/// The 32-bit number at `at`, in this machine's byte order: the manager is on this machine.
fn number(bytes: &[u8], at: usize) -> Option<usize> {
    let four = bytes.get(at..at.checked_add(4)?)?.first_chunk::<4>()?;
    usize::try_from(u32::from_ne_bytes(*four)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A message as systemd sends it: `signal` from `sender`, with a body of `body` bytes.
    fn message(sender: &str, body: usize) -> Vec<u8> {
        let order = if cfg!(target_endian = "little") { b'l' } else { b'B' };
        let mut fields = Vec::new();
        for (code, kind, text) in
            [(1, b'o', "/org/freedesktop/systemd1"), (3, b's', "JobRemoved"), (8, b'g', "uoss"), (SENDER, b's', sender)]
        {
            fields.resize(usize::next_multiple_of(fields.len(), 8), 0);
            fields.extend([code, 1, kind, 0]);
            if kind == b'g' {
                fields.push(u8::try_from(text.len()).expect("short"));
            } else {
                fields.extend(u32::try_from(text.len()).expect("short").to_ne_bytes());
            }
            fields.extend(text.bytes());
            fields.push(0);
        }
        let mut bytes = vec![order, 4, 0, 1];
        bytes.extend(u32::try_from(body).expect("short").to_ne_bytes());
        bytes.extend(1u32.to_ne_bytes());
        bytes.extend(u32::try_from(fields.len()).expect("short").to_ne_bytes());
        bytes.extend(fields);
        bytes.resize(bytes.len().next_multiple_of(8) + body, b'\n');
        bytes
    }

    #[test]
    fn every_sender_becomes_a_unique_name_of_the_same_length() {
        let handshake = b"OK 0123\r\nAGREE_UNIX_FD\r\n";
        let from = "org.freedesktop.systemd1";
        let to = ":rg.freedesktop.systemd1";
        let mut bytes = handshake.to_vec();
        let mut expected = handshake.to_vec();
        for body in [0, 3, 9000] {
            bytes.extend(message(from, body));
            expected.extend(message(to, body));
        }
        let ready = release(&mut bytes).expect("good messages");
        assert_eq!(ready, bytes.len());
        assert_eq!(bytes, expected);
    }

    #[test]
    fn half_a_line_and_half_a_message_wait_for_the_rest() {
        let whole = message("org.freedesktop.systemd1", 5);
        for cut in 0..whole.len() {
            let mut bytes = b"OK 1\r\n".to_vec();
            bytes.extend(&whole[..cut]);
            assert_eq!(release(&mut bytes).expect("good"), 6, "cut at {cut}");
        }
        assert_eq!(release(&mut b"OK 1\r".to_vec()).expect("good"), 0);
    }

    #[test]
    fn a_name_of_the_bus_stays_as_it_is() {
        let mut bytes = message(":1.7", 0);
        release(&mut bytes).expect("good");
        assert_eq!(bytes, message(":1.7", 0));
    }

    #[test]
    fn nonsense_is_an_error_and_no_panic() {
        let mut bytes = message("x", 0);
        bytes[4..8].copy_from_slice(&u32::MAX.to_ne_bytes());
        assert_eq!(release(&mut bytes).expect_err("too long").kind(), io::ErrorKind::InvalidData);
        for position in 12..40 {
            for value in [0, 0x7f, 0xff] {
                let mut bytes = message("org.freedesktop.systemd1", 0);
                bytes[position] = value;
                // It returns, and releases no more than there is.
                if let Ok(ready) = release(&mut bytes) {
                    assert!(ready <= bytes.len());
                }
            }
        }
    }
}
