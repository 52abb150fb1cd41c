//! What is on a terminal after a program wrote to it: as much of one as systemctl and copse need.

/// How characters look: the numbers of ANSI's SGR that are on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Style {
    pub bold: bool,
    pub faint: bool,
    /// 31 to 36, or 0.
    pub colour: u8,
}

/// A line, and the moment of its last change.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Line {
    pub cells: Vec<(char, Style)>,
    pub at: f64,
}

impl Line {
    /// Neighbours of one style, each with its column.
    pub fn runs(&self) -> Vec<(usize, String, Style)> {
        let mut runs: Vec<(usize, String, Style)> = Vec::new();
        for (column, (c, style)) in self.cells.iter().enumerate() {
            match runs.last_mut() {
                Some((_, text, same)) if *same == *style => text.push(*c),
                _ => runs.push((column, c.to_string(), *style)),
            }
        }
        runs
    }
}

/// Lines without end: nothing scrolls away.
#[derive(Debug)]
pub struct Terminal {
    pub lines: Vec<Line>,
    columns: usize,
    row: usize,
    column: usize,
    style: Style,
    /// What is there of an escape sequence.
    escape: String,
}

impl Terminal {
    pub fn new(columns: usize) -> Self {
        let (lines, escape) = (Vec::new(), String::new());
        Self { lines, columns, row: 0, column: 0, style: Style::default(), escape }
    }

    /// Takes what was written at a moment.
    pub fn write(&mut self, text: &str, at: f64) {
        for c in text.chars() {
            if !self.escape.is_empty() {
                self.escape.push(c);
                self.escaped(at);
                continue;
            }
            match c {
                '\u{1b}' => self.escape.push(c),
                '\n' => self.row += 1,
                '\r' => self.column = 0,
                c if c.is_control() => {}
                c => self.put(c, at),
            }
        }
    }

    fn line(&mut self, at: f64) -> &mut Line {
        if self.lines.len() <= self.row {
            self.lines.resize(self.row + 1, Line { cells: Vec::new(), at });
        }
        let line = &mut self.lines[self.row];
        line.at = at;
        line
    }

    fn put(&mut self, c: char, at: f64) {
        if self.column == self.columns {
            (self.row, self.column) = (self.row + 1, 0);
        }
        let (column, style) = (self.column, self.style);
        let line = self.line(at);
        if line.cells.len() <= column {
            line.cells.resize(column + 1, (' ', Style::default()));
        }
        line.cells[column] = (c, style);
        self.column += 1;
    }

    /// Does what an escape sequence says, once it is whole.
    fn escaped(&mut self, at: f64) {
        let sequence = self.escape.clone();
        let Some(body) = sequence.strip_prefix("\u{1b}[") else {
            // An OSC, such as a link's address, ends with BEL or ST; others are two characters.
            let osc = sequence.starts_with("\u{1b}]");
            if !osc && sequence != "\u{1b}[" || osc && (sequence.ends_with('\u{7}') || sequence.ends_with("\u{1b}\\")) {
                self.escape.clear();
            }
            return;
        };
        let Some(end) = body.chars().last().filter(char::is_ascii_alphabetic) else { return };
        self.escape.clear();
        let numbers: Vec<usize> = body[..body.len() - 1].split(';').map(|text| text.parse().unwrap_or(0)).collect();
        match end {
            'A' => self.row = self.row.saturating_sub(numbers[0].max(1)),
            'K' => self.line(at).cells.clear(),
            'm' => numbers.iter().for_each(|number| self.set(*number)),
            _ => {}
        }
    }

    fn set(&mut self, number: usize) {
        match number {
            0 => self.style = Style::default(),
            1 => self.style.bold = true,
            2 => self.style.faint = true,
            31..=36 => self.style.colour = u8::try_from(number).unwrap_or_default(),
            91..=96 => self.style.colour = u8::try_from(number - 60).unwrap_or_default(),
            39 => self.style.colour = 0,
            _ => {}
        }
    }
}
