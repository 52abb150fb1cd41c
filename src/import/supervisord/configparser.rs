//! The dialect of INI that supervisord reads: Python's `RawConfigParser` with `inline_comment_prefixes=(';', '#')` and
//! `strict=False`, as `supervisor.options.UnhosedConfigParser` makes it.

/// Where something stands: the number of the file, in the order in which they were read, and the line, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spot {
    /// Which file.
    pub file: usize,
    /// Which line of it.
    pub line: usize,
}

/// All files, read into one another: of the same option in the same section the last counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ini {
    /// In the order in which they were first met. `[DEFAULT]` isn't among them.
    pub sections: Vec<Section>,
    /// `[DEFAULT]`: what every other section has, unless it says otherwise.
    pub defaults: Vec<Setting>,
}

/// One section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// What stands between the brackets.
    pub name: String,
    /// Where its header stands first.
    pub spot: Spot,
    /// Its own options.
    pub settings: Vec<Setting>,
}

/// One option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// In lower case.
    pub option: String,
    /// The lines of the value without comments, joined by line feeds.
    pub value: String,
    /// Where it stands.
    pub spot: Spot,
    /// A line of it has several comment characters, and Python from 3.14 on finds the comment elsewhere.
    pub ambiguous: bool,
}

/// A line that makes supervisord refuse the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bogus {
    /// Where.
    pub spot: Spot,
    /// What is wrong with it.
    pub why: &'static str,
}

/// Python's `str.isspace`: Unicode's white space, and four control characters more.
pub fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// Python's `str.strip`.
pub fn strip(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// The line without its comment, and whether Python from 3.14 on would find another one.
///
/// Up to 3.13, the first `;` and the first `#` are looked at, then the second ones, until one of a pair stands behind a
/// blank: of two comments the later one may win. From 3.14 on the first one always does.
fn uncommented(line: &str) -> (&str, bool) {
    let begins_comment = |at: usize| line[..at].chars().next_back().is_none_or(is_space);
    let nth = |prefix: char, n: usize| line.match_indices(prefix).nth(n).map(|(at, _)| at);
    let mut old = None;
    for round in 0.. {
        let pair = [nth(';', round), nth('#', round)];
        old = pair.iter().flatten().copied().filter(|at| begins_comment(*at)).min();
        if old.is_some() || pair == [None, None] {
            break;
        }
    }
    let new = line.match_indices([';', '#']).map(|(at, _)| at).find(|at| begins_comment(*at));
    (&line[..old.unwrap_or(line.len())], old != new)
}

impl Ini {
    /// Reads one more file. What is wrong doesn't end the reading, except a first line outside of any section.
    pub fn read(&mut self, file: usize, text: &str) -> Vec<Bogus> {
        let mut state = State { ini: self, section: None, option: None, indent: 0, bogus: Vec::new() };
        for (number, line) in lines(text).enumerate() {
            let spot = Spot { file, line: number + 1 };
            if !state.line(&line, spot) {
                break;
            }
        }
        let bogus = state.bogus;
        for setting in self.sections.iter_mut().flat_map(|section| &mut section.settings).chain(&mut self.defaults) {
            setting.value.truncate(setting.value.trim_end_matches(is_space).len());
        }
        bogus
    }

    /// The section of that name.
    pub fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.name == name)
    }

    /// An option of a section, or else of `[DEFAULT]`.
    pub fn get<'i>(&'i self, section: &'i Section, option: &str) -> Option<&'i Setting> {
        section.settings.iter().chain(&self.defaults).find(|setting| setting.option == option)
    }

    /// Replaces `%(here)s` in all values: supervisord does so after each included file, with that file's directory.
    pub fn expand_here(&mut self, here: &str) {
        const HERE: &str = "%(here)s";
        for section in &mut self.sections {
            for default in &self.defaults {
                let own = section.settings.iter().any(|setting| setting.option == default.option);
                if !own && default.value.contains(HERE) {
                    section.settings.push(default.clone());
                }
            }
            for setting in &mut section.settings {
                setting.value = setting.value.replace(HERE, here);
            }
        }
    }
}

/// As Python's text files give them: `\r\n` and `\r` end a line as well.
fn lines(text: &str) -> impl Iterator<Item = String> {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let text = text.strip_suffix('\n').unwrap_or(&text).to_owned();
    text.split('\n').map(str::to_owned).collect::<Vec<_>>().into_iter()
}

/// A place among the settings: the section (`None`: `[DEFAULT]`) and the option in it.
struct State<'i> {
    ini: &'i mut Ini,
    /// `None`: no header yet. `Some(None)`: `[DEFAULT]`.
    section: Option<Option<usize>>,
    option: Option<String>,
    indent: usize,
    bogus: Vec<Bogus>,
}

impl State<'_> {
    /// Takes a line; `false` where there is no going on.
    fn line(&mut self, line: &str, spot: Spot) -> bool {
        let (value, ambiguous) = uncommented(line);
        let whole_line = strip(line).starts_with([';', '#']);
        let value = if whole_line { "" } else { strip(value) };
        if value.is_empty() {
            let blank = strip(line).is_empty();
            if let Some(setting) = self.current().filter(|_| blank) {
                setting.value.push('\n');
            }
            return true;
        }
        let indent = line.chars().take_while(|c| is_space(*c)).count();
        if indent > self.indent
            && let Some(setting) = self.current()
        {
            setting.value.push('\n');
            setting.value.push_str(value);
            setting.ambiguous |= ambiguous;
            return true;
        }
        self.indent = indent;
        if let Some(name) = header(value) {
            self.header(name, spot);
        } else if self.section.is_none() {
            self.bogus.push(Bogus { spot, why: "it stands above the first section's header" });
            return false;
        } else if let Some((option, value)) = value.split_once(['=', ':']) {
            self.setting(strip(option), strip(value), spot, ambiguous);
        } else {
            self.bogus.push(Bogus { spot, why: "it is neither a section's header nor `option = value`" });
        }
        true
    }

    fn header(&mut self, name: &str, spot: Spot) {
        self.option = None;
        let sections = &mut self.ini.sections;
        self.section = Some(if let Some(known) = sections.iter().position(|section| section.name == name) {
            Some(known)
        } else if name == "DEFAULT" {
            None
        } else {
            sections.push(Section { name: name.to_owned(), spot, settings: Vec::new() });
            Some(sections.len() - 1)
        });
    }

    fn setting(&mut self, option: &str, value: &str, spot: Spot, ambiguous: bool) {
        if option.is_empty() {
            self.bogus.push(Bogus { spot, why: "there is no option's name in front of the `=`" });
        }
        let option = option.to_lowercase();
        let setting = Setting { option: option.clone(), value: value.to_owned(), spot, ambiguous };
        let settings = self.settings();
        match settings.iter_mut().find(|known| known.option == option) {
            Some(known) => *known = setting,
            None => settings.push(setting),
        }
        // An empty name can't be continued.
        self.option = Some(option).filter(|option| !option.is_empty());
    }

    fn settings(&mut self) -> &mut Vec<Setting> {
        match self.section.flatten() {
            Some(at) => &mut self.ini.sections[at].settings,
            None => &mut self.ini.defaults,
        }
    }

    /// The option that an indented line goes on with.
    fn current(&mut self) -> Option<&mut Setting> {
        let option = self.option.clone()?;
        self.settings().iter_mut().find(|setting| setting.option == option)
    }
}

/// Everything between the first bracket, with which the line begins, and the last.
fn header(value: &str) -> Option<&str> {
    let inside = value.strip_prefix('[')?;
    inside.rsplit_once(']').map(|(name, _)| name).filter(|name| !name.is_empty())
}
