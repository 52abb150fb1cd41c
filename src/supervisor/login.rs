//! Basic authentication (RFC 7617).

use super::xml::decoded;

/// The name and password that every request has to present.
#[derive(Debug, Clone)]
pub struct Login {
    username: String,
    password: String,
}

impl Login {
    pub fn new(username: &str, password: &str) -> Self {
        let password = password.trim_end_matches(['\n', '\r']);
        Self { username: username.to_owned(), password: password.to_owned() }
    }

    /// Whether the value of an `Authorization` header fits.
    pub fn accepts(&self, header: Option<&str>) -> bool {
        let Some(presented) = header.and_then(|header| header.split_once(' ')) else { return false };
        let (scheme, encoded) = presented;
        let Some(text) = decoded(encoded).filter(|_| scheme.eq_ignore_ascii_case("basic")) else { return false };
        let Some((username, password)) = text.split_once(':') else { return false };
        // Both, so that the time does not say which of them is wrong.
        same(username, &self.username) & same(password, &self.password)
    }
}

/// Compares in a time that depends on the length of `presented` alone.
fn same(presented: &str, expected: &str) -> bool {
    let expected = expected.as_bytes();
    let mut difference = presented.len() ^ expected.len();
    for (index, byte) in presented.bytes().enumerate() {
        // An empty password is compared with itself.
        let other = expected.get(index % expected.len().max(1)).copied().unwrap_or_default();
        difference |= usize::from(byte ^ other);
    }
    std::hint::black_box(difference) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_right_name_with_the_right_password() {
        let login = Login::new("me", "secret\n");
        // me:secret, me:secre, me:secrets, you:secret, me
        assert!(login.accepts(Some("Basic bWU6c2VjcmV0")));
        assert!(login.accepts(Some("basic bWU6c2VjcmV0")));
        for header in [
            None,
            Some(""),
            Some("Basic"),
            Some("Basic bWU6c2VjcmU="),
            Some("Basic bWU6c2VjcmV0cw=="),
            Some("Basic eW91OnNlY3JldA=="),
            Some("Basic bWU="),
            Some("Bearer bWU6c2VjcmV0"),
            Some("Basic !"),
        ] {
            assert!(!login.accepts(header), "{header:?}");
        }
        assert!(!same("", "x") && !same("x", "") && same("", "") && same("x", "x"));
    }
}
