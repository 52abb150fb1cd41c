//! The dialect of INI that supervisord reads: Python's `RawConfigParser` with `inline_comment_prefixes=(';', '#')` and
//! `strict=False`, as `supervisor.options.UnhosedConfigParser` makes it.

use std::sync::Arc;

use crate::basic::diagnostic::{Code, Diagnostic, Diagnostics, SourceFile, SourceLocation};
use crate::import::lines;

/// The files, read into one another: if an option is set twice in a section, the last one counts.
#[derive(Debug, Clone, Default)]
pub struct Ini {
    /// In the order in which they first appear, without `[DEFAULT]`.
    pub sections: Vec<Section>,
    /// `[DEFAULT]`: options of all sections that do not set them.
    pub defaults: Vec<Setting>,
}

#[derive(Debug, Clone)]
pub struct Section {
    pub name: String,
    /// The line of its first header.
    pub location: SourceLocation,
    pub settings: Vec<Setting>,
}

#[derive(Debug, Clone)]
pub struct Setting {
    /// In lower case.
    pub option: String,
    /// The lines of the value without comments, joined by line feeds.
    pub value: String,
    /// The line of the option.
    pub location: SourceLocation,
}

/// Python's `str.isspace`: Unicode's white space, and four more control characters.
pub fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// Python's `str.strip`.
pub fn strip(text: &str) -> &str {
    text.trim_matches(is_space)
}

impl Ini {
    /// Reads one more file. A line that supervisord refuses is an error, and does not end the reading, unless no section
    /// is open yet.
    pub fn read(&mut self, file: &Arc<SourceFile>) -> Diagnostics {
        let mut state =
            State { ini: self, section: None, option: None, indent: 0, diagnostics: Diagnostics::default() };
        for (location, text) in lines(file) {
            let mut start = location.start as usize;
            // To Python, `\r` ends a line as well.
            for line in text.split('\r') {
                let indent = line.len() - line.trim_start().len();
                let location = SourceLocation::new(file, start + indent..start + line.trim_end().len().max(indent));
                start += line.len() + 1;
                if let Err(reason) = state.line(line, &location) {
                    let message = format!("supervisord refuses this line: {reason}");
                    state.diagnostics.push(Diagnostic::new(Code::NotImported, &location, message));
                    if state.section.is_none() {
                        return state.diagnostics;
                    }
                }
            }
        }
        let diagnostics = state.diagnostics;
        for setting in self.sections.iter_mut().flat_map(|section| &mut section.settings).chain(&mut self.defaults) {
            setting.value.truncate(setting.value.trim_end_matches(is_space).len());
        }
        diagnostics
    }

    pub fn section(&self, name: &str) -> Option<usize> {
        self.sections.iter().position(|section| section.name == name)
    }

    /// An option of a section, or else of `[DEFAULT]`.
    pub fn get(&self, section: usize, option: &str) -> Option<&Setting> {
        self.settings(section).find(|setting| setting.option == option)
    }

    /// The options of a section, and then those of `[DEFAULT]`.
    pub fn settings(&self, section: usize) -> impl Iterator<Item = &Setting> {
        self.sections[section].settings.iter().chain(&self.defaults)
    }

    /// The line of an option, or else the header of the section.
    pub fn location(&self, section: usize, option: &str) -> &SourceLocation {
        self.get(section, option).map_or(&self.sections[section].location, |setting| &setting.location)
    }

    /// Replaces `%(here)s` in all values, as supervisord does after each included file, with the directory of that file.
    pub fn expand_here(&mut self, here: &str) {
        const HERE: &str = "%(here)s";
        for section in &mut self.sections {
            for default in self.defaults.iter().filter(|default| default.value.contains(HERE)) {
                if section.settings.iter().all(|setting| setting.option != default.option) {
                    section.settings.push(default.clone());
                }
            }
            for setting in &mut section.settings {
                setting.value = setting.value.replace(HERE, here);
            }
        }
    }
}

struct State<'i> {
    ini: &'i mut Ini,
    /// `None`: no header yet. `Some(None)`: `[DEFAULT]`.
    section: Option<Option<usize>>,
    /// The option that an indented line continues.
    option: Option<String>,
    indent: usize,
    diagnostics: Diagnostics,
}

impl State<'_> {
    fn line(&mut self, line: &str, location: &SourceLocation) -> Result<(), &'static str> {
        let blank = strip(line).is_empty();
        let value = if strip(line).starts_with([';', '#']) { "" } else { self.uncommented(line, location) };
        if value.is_empty() {
            if let Some(setting) = self.current().filter(|_| blank) {
                setting.value.push('\n');
            }
            return Ok(());
        }
        let indent = line.chars().take_while(|c| is_space(*c)).count();
        if indent > self.indent
            && let Some(setting) = self.current()
        {
            setting.value += &format!("\n{value}");
            return Ok(());
        }
        self.indent = indent;
        // The name of a section ends at the last bracket of the line.
        let header = value.strip_prefix('[').and_then(|inside| inside.rsplit_once(']')).map(|(name, _)| name);
        if let Some(name) = header.filter(|name| !name.is_empty()) {
            self.header(name, location);
            return Ok(());
        }
        if self.section.is_none() {
            return Err("it stands above the first section");
        }
        let (option, value) = value.split_once(['=', ':']).ok_or("it is neither `[section]` nor `option = value`")?;
        self.setting(strip(option).to_lowercase(), strip(value), location)
    }

    /// The line without its comment, which begins at the first `;` or `#` after white space. Up to Python 3.13, another
    /// one may win: the first `;` and the first `#` are looked at, then the second ones, and so on.
    fn uncommented<'l>(&mut self, line: &'l str, location: &SourceLocation) -> &'l str {
        let begins_comment = |at: &usize| line[..*at].chars().next_back().is_none_or(is_space);
        let Some(at) = line.match_indices([';', '#']).map(|(at, _)| at).find(begins_comment) else {
            return strip(line);
        };
        let (value, comment) = line.split_at(at);
        let (this, other) = if comment.starts_with(';') { (';', '#') } else { ('#', ';') };
        let passed = value.matches(this).count();
        if line.match_indices(other).take(passed).any(|(at, _)| begins_comment(&at)) {
            let message =
                "this line has several comment characters: before Python 3.14, supervisord reads a longer value";
            self.diagnostics.push(Diagnostic::new(Code::Otherwise, location, message));
        }
        strip(value)
    }

    fn header(&mut self, name: &str, location: &SourceLocation) {
        self.option = None;
        self.section = Some(match self.ini.section(name) {
            None if name == "DEFAULT" => None,
            None => {
                let section = Section { name: name.to_owned(), location: location.clone(), settings: Vec::new() };
                self.ini.sections.push(section);
                Some(self.ini.sections.len() - 1)
            }
            known => known,
        });
    }

    fn setting(&mut self, option: String, value: &str, location: &SourceLocation) -> Result<(), &'static str> {
        let setting = Setting { option: option.clone(), value: value.to_owned(), location: location.clone() };
        let settings = self.settings();
        match settings.iter_mut().find(|known| known.option == option) {
            Some(known) => *known = setting,
            None => settings.push(setting),
        }
        // An empty name cannot be continued.
        self.option = Some(option).filter(|option| !option.is_empty());
        self.option.as_ref().map(|_| ()).ok_or("there is no option before the `=`")
    }

    fn settings(&mut self) -> &mut Vec<Setting> {
        match self.section.flatten() {
            Some(section) => &mut self.ini.sections[section].settings,
            None => &mut self.ini.defaults,
        }
    }

    fn current(&mut self) -> Option<&mut Setting> {
        let option = self.option.clone()?;
        self.settings().iter_mut().find(|setting| setting.option == option)
    }
}
