//! A session as an SVG: all of it stands there, and where animations are shown each line appears when it did.

use std::fmt::Write as _;

use super::terminal::{Line, Style};

/// Of a character, in pixels, at the size of [`STYLE`].
const WIDTH: f64 = 7.83;
const HEIGHT: usize = 16;
/// Round the text.
const MARGIN: usize = 14;

/// Two sets of colours, each at least 4.5:1 against its ground. Plain rules: not every viewer knows variables.
const STYLE: &str = "
text { font: 13px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace; fill: #1f2328; white-space: pre }
rect { fill: #fbfbfa; stroke: #d0d7de } .b { font-weight: bold } .f { fill: #656d76 } .c31 { fill: #c02430 }
.c32 { fill: #176f2c } .c33 { fill: #8a5a00 } .c34 { fill: #0550ae } .c35 { fill: #8250df } .c36 { fill: #0b6a73 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } rect { fill: #14181d; stroke: #30363d } .f { fill: #9aa4ae } .c31 { fill: #ff8078 }
  .c32 { fill: #56d364 } .c33 { fill: #e3b341 } .c34 { fill: #79c0ff } .c35 { fill: #d2a8ff } .c36 { fill: #56d4dd }
}
@media (prefers-reduced-motion: no-preference) { text { animation: come 80ms both } }
@keyframes come { from { opacity: 0 } to { opacity: 1 } }
";

/// Draws lines, of which each appears at its moment.
pub fn svg(title: &str, lines: &[Line], columns: usize) -> String {
    let width = (WIDTH * columns as f64).ceil() as usize + 2 * MARGIN;
    let height = HEIGHT * lines.len() + 2 * MARGIN;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         role=\"img\">\n<title>{}</title>\n<style>{STYLE}</style>\n<rect x=\".5\" y=\".5\" width=\"{}\" height=\"{}\" rx=\"8\"/>\n",
        escaped(title),
        width - 1,
        height - 1
    );
    for (row, line) in lines.iter().enumerate().filter(|(_, line)| !line.cells.is_empty()) {
        let y = MARGIN + HEIGHT * row + 12;
        let _ = write!(text, "<text y=\"{y}\" style=\"animation-delay:{:.2}s\">", line.at);
        for (column, run, style) in line.runs().into_iter().flat_map(words) {
            let x = MARGIN as f64 + WIDTH * column as f64;
            let length = WIDTH * run.chars().count() as f64;
            let _ = write!(
                text,
                "<tspan x=\"{x:.1}\" textLength=\"{length:.1}\"{}>{}</tspan>",
                class(style),
                escaped(&run)
            );
        }
        text.push_str("</text>\n");
    }
    text + "</svg>\n"
}

/// A run in pieces that stand where they stand, however wide the viewer's blanks are.
fn words((column, text, style): (usize, String, Style)) -> Vec<(usize, String, Style)> {
    let mut pieces = Vec::new();
    let mut at = column;
    for piece in text.split("  ") {
        let blanks = piece.chars().take_while(|c| *c == ' ').count();
        let word = piece.trim_end();
        if !word.trim_start().is_empty() {
            pieces.push((at + blanks, word.trim_start().to_owned(), style));
        }
        at += piece.chars().count() + 2;
    }
    pieces
}

fn class(style: Style) -> String {
    let mut classes = Vec::new();
    classes.extend(style.bold.then(|| "b".to_owned()));
    classes.extend(style.faint.then(|| "f".to_owned()));
    classes.extend((style.colour != 0).then(|| format!("c{}", style.colour)));
    if classes.is_empty() { String::new() } else { format!(" class=\"{}\"", classes.join(" ")) }
}

pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
