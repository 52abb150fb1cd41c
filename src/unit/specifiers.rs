//! Specifiers in systemd's own grammar (systemd.unit(5), "Specifiers").

/// Copies `text`. For each `%`, `expand` gets the character after it (`None` at the end of the text) and writes what the
/// two become.
///
/// # Errors
/// Those of `expand`.
pub fn expand<E>(text: &str, mut expand: impl FnMut(Option<char>, &mut String) -> Result<(), E>) -> Result<String, E> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        expanded.push_str(before);
        let mut after = after.chars();
        expand(after.next(), &mut expanded)?;
        rest = after.as_str();
    }
    expanded.push_str(rest);
    Ok(expanded)
}

/// A value in systemd's grammar with `%n` and `%N` replaced by the name of `unit`, which may itself contain specifiers.
pub fn for_unit(text: &str, unit: &str) -> String {
    let expanded = expand::<std::convert::Infallible>(text, |specifier, expanded| {
        match specifier {
            Some('n') => expanded.push_str(unit),
            Some('N') => expanded.push_str(unit.rsplit_once('.').map_or(unit, |(stem, _)| stem)),
            other => expanded.extend(std::iter::once('%').chain(other)),
        }
        Ok(())
    });
    match expanded {
        Ok(text) => text,
    }
}

#[cfg(test)]
mod tests {
    use super::for_unit;

    #[test]
    fn only_the_units_name_is_replaced() {
        for (value, expected) in [
            ("a %n b", "a g-w@%i.service b"),
            ("%N%i", "g-w@%i%i"),
            ("100%% %%n %%%n", "100%% %%n %%g-w@%i.service"),
            ("%t/x %", "%t/x %"),
            ("ünd %é", "ünd %é"),
        ] {
            assert_eq!(for_unit(value, "g-w@%i.service"), expected, "{value}");
        }
    }
}
