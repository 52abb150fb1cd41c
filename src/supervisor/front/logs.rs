//! What processes logged.

use super::Front;
use crate::supervisor::call::{Log, Window};
use crate::supervisor::fault::{Code, Fault, Result};
use crate::supervisor::program_log::Source;
use crate::supervisor::value::Value;
use crate::unit::name;

impl Front {
    /// Where a log is; `None` for the one that is always empty.
    pub async fn source(&self, log: &Log) -> Result<Option<Source>> {
        let name = match log {
            Log::Main => {
                let roster = self.roster().await?;
                let units = roster.entries().iter().map(|entry| entry.unit.clone());
                return Ok(Some(Source::Manager(units.chain([name::target(&self.group)]).collect())));
            }
            Log::Stdout(name) | Log::Stderr(name) => name,
        };
        let entry = self.roster().await?.find_process(name)?;
        if matches!(log, Log::Stderr(_)) {
            return Ok(None);
        }
        if self.properties(&entry.unit).await?.output_discarded {
            return Err(Fault::new(Code::NoFile, "its standard output is discarded"));
        }
        Ok(Some(Source::Service(entry.unit)))
    }

    pub(super) async fn read_log(&self, log: &Log, window: Window) -> Result<Value> {
        match self.source(log).await? {
            Some(source) => {
                let part = source.part(self.scope, window).await?;
                Ok(Value::String(String::from_utf8_lossy(&part.text).into_owned()))
            }
            None => Ok(Value::text("")),
        }
    }

    pub(super) async fn tail_log(&self, log: &Log, window: Window) -> Result<Value> {
        let (text, size, overflow) = match self.source(log).await? {
            Some(source) => {
                let (part, overflow) = source.tail(self.scope, window).await?;
                (String::from_utf8_lossy(&part.text).into_owned(), part.size, overflow)
            }
            None => (String::new(), 0, false),
        };
        Ok(Value::Array(vec![Value::String(text), Value::number(size), Value::Boolean(overflow)]))
    }
}
