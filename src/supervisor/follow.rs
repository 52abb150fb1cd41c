//! `tail -f`: a log as it grows, in chunks of whole characters, for ever.

use std::convert::Infallible;
use std::time::Duration;

use futures_util::stream::{self, Stream};
use hyper::body::{Bytes, Frame};
use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, ChildStdout};
use tokio::sync::watch;

/// How much of the end of the log comes first, in bytes.
const FIRST: usize = 1024;

/// How long nothing has to come until what was there at the beginning is complete.
const QUIET: Duration = Duration::from_millis(300);

struct Follower {
    /// `None`: a log that is always empty.
    log: Option<(Child, ChildStdout)>,
    /// What came and was not sent: a part of a character.
    rest: Vec<u8>,
    /// What was there at the beginning is not sent yet.
    at_start: bool,
    ended: watch::Receiver<bool>,
}

/// The text of `log`, the standard output of `journalctl --follow`, from its last 1024 bytes on. It ends once `ended`
/// is true.
pub fn follow(
    log: Option<Child>,
    ended: watch::Receiver<bool>,
) -> impl Stream<Item = Result<Frame<Bytes>, Infallible>> + Send {
    let log = log.and_then(|mut child| child.stdout.take().map(|output| (child, output)));
    let follower = Follower { log, rest: Vec::new(), at_start: true, ended };
    stream::unfold(follower, |mut follower| async move {
        let chunk = follower.next().await?;
        Some((Ok(Frame::data(Bytes::from(chunk))), follower))
    })
}

impl Follower {
    async fn next(&mut self) -> Option<Vec<u8>> {
        let Some((_, output)) = &mut self.log else {
            let _ = self.ended.wait_for(|ended| *ended).await;
            return None;
        };
        let mut buffer = vec![0; 16 << 10];
        loop {
            // Without end, once what was there at the beginning is sent.
            let quiet = if self.at_start { QUIET } else { Duration::MAX };
            let count = tokio::select! {
                _ = self.ended.wait_for(|ended| *ended) => return None,
                count = output.read(&mut buffer) => Some(count.ok()?),
                () = tokio::time::sleep(quiet) => None,
            };
            match count {
                Some(0) => return None,
                Some(count) => self.rest.extend_from_slice(&buffer[..count]),
                None => {
                    self.at_start = false;
                    self.rest = last_lines(&self.rest, FIRST).to_vec();
                }
            }
            if self.at_start {
                continue;
            }
            let whole = whole_characters(&self.rest);
            if whole > 0 {
                let rest = self.rest.split_off(whole);
                let chunk = std::mem::replace(&mut self.rest, rest);
                return Some(String::from_utf8_lossy(&chunk).into_owned().into_bytes());
            }
        }
    }
}

/// The end of a text from the start of a line on, at most `bytes` long.
fn last_lines(text: &[u8], bytes: usize) -> &[u8] {
    let cut = text.len().saturating_sub(bytes);
    if cut == 0 {
        return text;
    }
    match text[cut - 1..].iter().position(|byte| *byte == b'\n') {
        Some(newline) => &text[cut + newline..],
        None => &text[cut..],
    }
}

/// How many bytes there are without an incomplete character of UTF-8 at the end. Bytes that are no UTF-8 count as well.
fn whole_characters(text: &[u8]) -> usize {
    let begin = text.iter().rev().take(3).position(|byte| *byte & 0xc0 != 0x80);
    let Some(after) = begin else { return text.len() };
    let length = match text[text.len() - 1 - after] {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => 1,
    };
    if length > after + 1 { text.len() - after - 1 } else { text.len() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_begins_with_a_line_and_never_cuts_a_character() {
        assert_eq!(last_lines(b"one\ntwo\nthree\n", 9), b"three\n");
        assert_eq!(last_lines(b"one\ntwo\nthree\n", 10), b"two\nthree\n");
        assert_eq!(last_lines(b"one\n", 100), b"one\n");
        assert_eq!(last_lines(b"onelongline", 4), b"line");
        assert_eq!(whole_characters("aé".as_bytes()), 3);
        assert_eq!(whole_characters(b"a\xc3"), 1);
        assert_eq!(whole_characters(b"a\xffb"), 3);
        assert_eq!(whole_characters(b"a\xffb\xc3"), 3);
    }
}
