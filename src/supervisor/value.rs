//! The values of XML-RPC, as far as clients of supervisord send or read them.

use std::collections::BTreeMap;

/// A value. Only the first four and arrays and structs of them are sent.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `<int>`, also `<i4>`: 32 bits.
    Int(i32),
    Boolean(bool),
    String(String),
    Array(Vec<Value>),
    Struct(BTreeMap<String, Value>),
    /// Only read.
    Double(f64),
}

impl Value {
    pub fn text(text: impl Into<String>) -> Self {
        Self::String(text.into())
    }

    /// Seconds or a size, cut off at what 32 bits hold.
    pub fn number(number: u64) -> Self {
        Self::Int(i32::try_from(number).unwrap_or(i32::MAX))
    }

    pub fn structure<const N: usize>(members: [(&str, Value); N]) -> Self {
        Self::Struct(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// The truth of a value, as Python sees it: some clients send integers for booleans.
    pub fn is_true(&self) -> bool {
        match self {
            Self::Int(number) => *number != 0,
            Self::Boolean(value) => *value,
            Self::String(text) => !text.is_empty(),
            Self::Array(values) => !values.is_empty(),
            Self::Struct(members) => !members.is_empty(),
            Self::Double(number) => *number != 0.0,
        }
    }
}
