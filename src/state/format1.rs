//! Reads what copse up to 0.1.0 wrote below `/run/copse`, so that an upgrade forgets neither pins nor what runs.
//!
//! A line `copse KIND 1`, then records, then `end CHECKSUM`. A record is a line `WORD LENGTH…` and its fields, as many
//! bytes each, with a newline after the last.

use std::num::NonZeroU64;

use serde_json::{Value, json};

use super::checksum::checksum;

#[cfg(test)]
mod tests;

/// The JSON and the texts of format 2. `None` if the file is damaged.
pub(super) fn convert(kind: &str, file: &str) -> Option<(Value, String)> {
    let end = file.strip_suffix('\n')?.rfind('\n')? + 1;
    let (records, last) = file.split_at(end);
    if last != format!("end {}\n", checksum(records.as_bytes())) {
        return None;
    }
    let (_, mut rest) = records.split_once('\n')?;
    let mut converter = Converter { value: empty(kind)?, ..Converter::default() };
    while !rest.is_empty() {
        converter.record(kind, &take(&mut rest)?)?;
    }
    Some((json!({ "texts": converter.files, "value": converter.value }), converter.texts))
}

fn empty(kind: &str) -> Option<Value> {
    match kind {
        "history" => Some(json!({ "versions": [], "orphans": {} })),
        "pins" => Some(json!([])),
        "applied" => Some(json!({ "units": {} })),
        "intent" => Some(json!([])),
        _ => None,
    }
}

struct Record<'t> {
    word: &'t str,
    fields: Vec<&'t str>,
}

impl Record<'_> {
    fn text(&self, index: usize) -> Option<&str> {
        self.fields.get(index).copied()
    }

    fn number(&self, index: usize) -> Option<u64> {
        self.text(index)?.parse().ok()
    }

    fn numbers(&self, from: usize) -> Option<Vec<u64>> {
        self.fields.get(from..)?.iter().map(|field| field.parse().ok()).collect()
    }
}

#[derive(Default)]
struct Converter {
    files: Vec<Value>,
    texts: String,
    sources: Vec<Value>,
    value: Value,
}

impl Converter {
    /// Words that are not known are ignored, as every reader of this format does.
    fn record(&mut self, kind: &str, record: &Record<'_>) -> Option<()> {
        match (kind, record.word) {
            (_, "text") => {
                let (path, text) = (record.text(0)?, record.text(1)?);
                self.files.push(json!({ "path": path, "size": text.len() }));
                self.texts.push_str(text);
            }
            (_, "source") => {
                let (name, file, drop_ins) = (record.text(0)?, record.number(1)?, record.numbers(2)?);
                self.sources.push(json!({ "name": name, "file": file, "drop_ins": drop_ins }));
            }
            ("history", "version") => self.version(record)?,
            ("history", "above" | "below") => self.last_version()?[record.word] = json!(record.numbers(0)?),
            ("history", "pin") => {
                let pin = self.pin(record)?;
                self.last_version()?["pins"].as_array_mut()?.push(pin);
            }
            ("history", "gone") => self.value["orphans"][record.text(0)?] = json!(record.text(1)?),
            ("pins", "pin") => {
                let pin = self.pin(record)?;
                self.value.as_array_mut()?.push(pin);
            }
            ("applied", "apply") => {
                self.value["at"] = json!(record.number(0)?);
                self.value["source"] = self.source(record, 1)?;
                self.value["cpus"] = json!(record.number(2)?);
            }
            ("applied", "unit") => {
                let fingerprints = json!({ "inputs": record.text(2)?, "handed": record.text(3) });
                self.value["units"][record.text(0)?] =
                    json!({ "at": record.number(1).map(NonZeroU64::new)?, "prints": fingerprints });
            }
            ("intent", "unit") => self.value.as_array_mut()?.push(json!(record.text(0)?)),
            _ => {}
        }
        Some(())
    }

    fn source(&self, record: &Record<'_>, index: usize) -> Option<Value> {
        self.sources.get(usize::try_from(record.number(index)?).ok()?).cloned()
    }

    fn version(&mut self, record: &Record<'_>) -> Option<()> {
        let version = json!({
            "since": record.number(0)?,
            "cpus": record.number(1)?,
            "static_target": match record.text(2)? {
                "static" => true,
                "generated" => false,
                _ => return None,
            },
            "source": self.source(record, 3)?,
            "pins": [],
        });
        self.value["versions"].as_array_mut()?.push(version);
        Some(())
    }

    /// The version that `above`, `below` and `pin` belong to.
    fn last_version(&mut self) -> Option<&mut Value> {
        self.value["versions"].as_array_mut()?.last_mut()
    }

    fn pin(&self, record: &Record<'_>) -> Option<Value> {
        let units = match record.text(2)? {
            "all" => json!("all"),
            "only" => json!({ "only": record.fields[3..] }),
            _ => return None,
        };
        Some(json!({ "source": self.source(record, 0)?, "cpus": record.number(1)?, "units": units }))
    }
}

fn take<'t>(rest: &mut &'t str) -> Option<Record<'t>> {
    let (line, mut after) = rest.split_once('\n')?;
    let mut words = line.split(' ');
    let word = words.next()?;
    let fields = words.map(|length| {
        let field = after.get(..length.parse().ok()?)?;
        after = &after[field.len()..];
        Some(field)
    });
    let fields = fields.collect::<Option<_>>()?;
    *rest = after.strip_prefix('\n')?;
    Some(Record { word, fields })
}
