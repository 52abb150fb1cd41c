//! What a situation is: a function that is handed a booted machine and asserts what a user would see.

use crate::machines::machine::Machine;
use crate::machines::version::Version;

/// One situation, to be tried on each of `versions`.
pub struct Situation {
    /// The function's own name: the user's situation as a sentence.
    pub name: &'static str,
    /// Panics where what is seen isn't what was promised.
    pub run: fn(&Machine),
    /// Where it is tried.
    pub versions: &'static [Version],
}

/// Makes a [`Situation`] of a function: `situation!(f)` is for every version, `situation!(f, [V252, V257])`
/// for these only (say why in a comment).
macro_rules! situation {
    ($function:ident) => {
        situation!($function, $crate::machines::version::Version::ALL)
    };
    ($function:ident, [$($version:ident),+ $(,)?]) => {
        situation!($function, &[$($crate::machines::version::Version::$version),+])
    };
    ($function:ident, $versions:expr) => {
        $crate::situation::Situation {
            name: stringify!($function),
            run: $function,
            versions: $versions,
        }
    };
}
pub(crate) use situation;
