//! `max-unavailable`: a number of instances, or so many of a hundred.

/// How many instances may be down at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Percentage {
    /// So many.
    Count(usize),
    /// So many of a hundred.
    Percent(usize),
}

impl Percentage {
    /// Reads `2` or `25%`; at least one, at most all.
    pub fn parse(text: &str) -> Option<Self> {
        let number = |text: &str| text.parse().ok().filter(|number| *number > 0);
        match text.strip_suffix('%') {
            Some(percent) => number(percent).filter(|percent| *percent <= 100).map(Self::Percent),
            None => number(text).map(Self::Count),
        }
    }

    /// Of so many instances; at least one, or nothing could ever be done.
    pub fn of(self, instances: usize) -> usize {
        match self {
            Self::Count(count) => count,
            Self::Percent(percent) => (instances * percent / 100).max(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_instances() {
        for (text, of, expected) in [
            ("1", 4, Some(1)),
            ("3", 4, Some(3)),
            ("50%", 4, Some(2)),
            ("10%", 4, Some(1)),
            ("100%", 4, Some(4)),
            ("0", 4, None),
            ("0%", 4, None),
            ("101%", 4, None),
            ("x", 4, None),
        ] {
            assert_eq!(Percentage::parse(text).map(|share| share.of(of)), expected, "{text}");
        }
    }
}
