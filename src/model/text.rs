//! Text with placeholders.

/// Text with placeholders; `{group}` and `{process}` are already replaced.
#[derive(Debug, Clone)]
pub struct Text(Pieces);

/// Nearly every text is one literal, which needs no list.
#[derive(Debug, Clone)]
enum Pieces {
    One(Piece),
    Many(Vec<Piece>),
}

/// A part of a [`Text`]. Adjacent literals are one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Reaches the process byte for byte.
    Literal(String),
    /// `{instance}`: `%i`
    Instance,
    /// `{unit}`: `%n`
    Unit,
    /// `{runtime-directory}` …: the first directory of that kind, of the process or else of the group: `%t/NAME`.
    Directory(DirectoryKind, Box<Text>),
    /// `{credentials-directory}`
    CredentialsDirectory,
    /// `{env:NAME}`: systemd replaces it when the process starts, as (part of) one argument. Only in commands.
    Env(String),
    /// `{env:NAME...}`: the words of the variable. Only as a whole argument.
    EnvWords(String),
}

/// A command: never empty. The first argument is the program, an absolute path or a bare name.
pub type Argv = Vec<Text>;

/// True if a shell reads the command: unless that begins with `exec`, the program is a child of the shell.
pub fn is_shell(argv: &Argv) -> bool {
    let argument = |index: usize| argv.get(index).filter(|argument| argument.pieces().len() == 1).map(Text::leading);
    argument(0) == Some("/bin/sh") && argument(1) == Some("-c")
}

/// The five kinds of systemd.exec(5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DirectoryKind {
    Runtime,
    State,
    Cache,
    Logs,
    Configuration,
}

impl DirectoryKind {
    /// All five, in systemd's order.
    pub const ALL: [Self; 5] = [Self::Runtime, Self::State, Self::Cache, Self::Logs, Self::Configuration];

    const NAMES: [[&'static str; 5]; 5] = [
        ["runtime-directory", "runtime-directory-mode", "RuntimeDirectory", "/run/", "%t"],
        ["state-directory", "state-directory-mode", "StateDirectory", "/var/lib/", "%S"],
        ["cache-directory", "cache-directory-mode", "CacheDirectory", "/var/cache/", "%C"],
        ["logs-directory", "logs-directory-mode", "LogsDirectory", "/var/log/", "%L"],
        ["configuration-directory", "configuration-directory-mode", "ConfigurationDirectory", "/etc/", "%E"],
    ];

    /// The key, which is also the placeholder: `runtime-directory`.
    pub fn key(self) -> &'static str {
        Self::NAMES[self as usize][0]
    }

    /// The key of its mode: `runtime-directory-mode`.
    pub fn mode_key(self) -> &'static str {
        Self::NAMES[self as usize][1]
    }

    /// The directive: `RuntimeDirectory`.
    pub fn directive(self) -> &'static str {
        Self::NAMES[self as usize][2]
    }

    /// The base directory of the system manager: `/run/`.
    pub fn base(self) -> &'static str {
        Self::NAMES[self as usize][3]
    }

    /// The specifier of the base directory (systemd.unit(5)): `%t`.
    pub fn specifier(self) -> &'static str {
        Self::NAMES[self as usize][4]
    }
}

impl Text {
    /// Text without placeholders.
    pub fn literal(text: impl Into<String>) -> Self {
        Self(Pieces::One(Piece::Literal(text.into())))
    }

    pub fn pieces(&self) -> &[Piece] {
        match &self.0 {
            Pieces::One(piece) => std::slice::from_ref(piece),
            Pieces::Many(pieces) => pieces,
        }
    }

    fn pieces_mut(&mut self) -> &mut [Piece] {
        match &mut self.0 {
            Pieces::One(piece) => std::slice::from_mut(piece),
            Pieces::Many(pieces) => pieces,
        }
    }

    pub fn into_pieces(self) -> Vec<Piece> {
        match self.0 {
            Pieces::One(piece) => vec![piece],
            Pieces::Many(pieces) => pieces,
        }
    }

    /// The literal text at its start; empty if it starts with a placeholder.
    pub fn leading(&self) -> &str {
        match self.pieces().first() {
            Some(Piece::Literal(text)) => text,
            _ => "",
        }
    }

    /// The literal piece at its start.
    pub fn leading_mut(&mut self) -> Option<&mut String> {
        match self.pieces_mut().first_mut() {
            Some(Piece::Literal(text)) => Some(text),
            _ => None,
        }
    }

    pub fn push(&mut self, piece: Piece) {
        let mut pieces = std::mem::take(self).into_pieces();
        pieces.push(piece);
        *self = Self::from(pieces);
    }

    /// Appends literal text, joined with a literal at the end.
    pub fn push_literal(&mut self, more: &str) {
        match self.pieces_mut().last_mut() {
            Some(Piece::Literal(text)) => text.push_str(more),
            _ if more.is_empty() => {}
            _ => self.push(Piece::Literal(more.to_owned())),
        }
    }

    /// True if one of the pieces matches.
    pub fn has(&self, matches: impl Fn(&Piece) -> bool) -> bool {
        self.pieces().iter().any(matches)
    }

    /// True if it has no placeholders.
    pub fn is_literal(&self) -> bool {
        !self.has(|piece| !matches!(piece, Piece::Literal(_)))
    }

    /// True if no expansion of the placeholders can be an absolute path.
    pub fn is_relative(&self) -> bool {
        let pieces = self.pieces();
        let first = pieces.iter().find(|piece| !matches!(piece, Piece::Literal(text) if text.is_empty()));
        match first {
            Some(Piece::Literal(text)) => !text.starts_with('/'),
            Some(Piece::Directory(..) | Piece::CredentialsDirectory) => false,
            _ => true,
        }
    }

    /// The length of its literal pieces in bytes.
    pub fn literal_len(&self) -> usize {
        self.pieces().iter().map(|piece| if let Piece::Literal(text) = piece { text.len() } else { 0 }).sum()
    }
}

impl Default for Text {
    fn default() -> Self {
        Self(Pieces::Many(Vec::new()))
    }
}

impl From<Vec<Piece>> for Text {
    fn from(pieces: Vec<Piece>) -> Self {
        Self(Pieces::Many(pieces))
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        self.pieces() == other.pieces()
    }
}

impl Eq for Text {}
