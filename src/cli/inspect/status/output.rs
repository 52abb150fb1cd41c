//! How a status is printed: as text, or as JSON.

use clap::Args;

use crate::basic::scope::Scope;
use crate::basic::terminal::TerminalStyle;
use crate::cli::common::args::{Color, Json};
use crate::cli::common::output::style;
use crate::status::{Status, json, render};

#[derive(Debug, Default, Clone, Copy, Args)]
pub(super) struct Output {
    #[command(flatten)]
    pub(super) json: Json,

    #[command(flatten)]
    pub(super) color: Color,
}

impl Output {
    pub(super) fn text(
        self,
        scope: Scope,
        shown: &[Status],
        render: impl FnOnce(&[Status], TerminalStyle) -> String,
    ) -> String {
        match self.json.json {
            true => shown.iter().map(|status| json::render(status) + "\n").collect(),
            false => render(shown, style(self.color.color, scope)),
        }
    }
}

pub(super) fn whole(shown: &[Status], style: TerminalStyle) -> String {
    shown.iter().map(|status| render::render(status, style)).collect::<Vec<_>>().join("\n")
}
