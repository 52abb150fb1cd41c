//! No input makes the import panic, and nothing that it says becomes a directive, a second command, or a key.

use std::collections::BTreeMap;

use copse::generate;
use copse::generate::Options;
use copse::unit::UnitTree;
use copse::unit::directives::Systemd;
use copse::unit::strict::skeleton;
use proptest::prelude::*;

use crate::compare::{Input, group};
use crate::{random, random_procfile, safe};

fn input(text: String) -> Input {
    let files = vec![("/srv/supervisor/supervisord.conf".to_owned(), text)];
    Input { files, environment: BTreeMap::new(), host: "copse-test".to_owned() }
}

/// A file with `hostile` wherever text is free.
fn with_everywhere(hostile: &str) -> Input {
    let (quoted, percent) = (hostile.replace(['"', '\\'], ""), hostile.replace('%', "%%"));
    // A line feed ends a value, unless the next line is indented; a comment would end one as well.
    let quoted = quoted.replace('%', "%%").replace(['\n', '\r'], "\n ").replace([';', '#'], "");
    let folded = percent.replace(['\n', '\r'], "\n ").replace([';', '#'], "").replace(['"', '\'', '\\'], "");
    input(format!(
        "[supervisord]\nenvironment=G=\"{quoted}\"\n[program:web]\ncommand=/bin/web {folded} \"x{quoted}\"\n\
         environment=A=\"x{quoted}\",B=\"{quoted}\"\nstdout_logfile=/var/log/x{folded}\nunknown={folded}\n\
         stopasgroup=true\n[program:other]\ncommand=/bin/other\nstopasgroup=true\n"
    ))
}

fn units(input: &Input) -> Option<UnitTree> {
    let imported = input.import();
    if imported.members.is_empty() {
        return None;
    }
    let group = group(&imported).unwrap_or_else(|why| panic!("it doesn't pass `copse check`: {why}"));
    Some(generate::generate(&group, Options { systemd: Systemd::NEWEST, static_target: false }))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_text_becomes_a_directive(
        hostile in "([\\\\\n\r\"'%$; =\\[\\]#{}\t\u{1}|&-]|[a-z]|\nExecStart=/evil|\n\\[Service\\]\n|\\\\\n|\\$\\{A\\}|%i|\\{env:A\\}){0,12}"
    ) {
        let expected = skeleton(&units(&with_everywhere("x")).unwrap());
        let tree = units(&with_everywhere(&hostile)).unwrap();
        prop_assert_eq!(skeleton(&tree), expected);
    }

    #[test]
    fn no_text_makes_it_panic(text in any::<String>()) {
        units(&input(text));
    }

    #[test]
    fn no_lines_make_it_panic(
        lines in prop::collection::vec(
            "\\[(program|group|fcgi-program|eventlistener|supervisord|include|DEFAULT)(:[ -~]{0,8})?\\]|(command|environment|numprocs|process_name|socket|programs|files|directory|priority|user|umask|exitcodes|stopsignal)=[ -~é\u{0}\u{1}]{0,24}|[ \t]{0,2}[ -~]{0,20}|numprocs=99999999999999999999|numprocs_start=-9223372036854775808",
            0..24,
        ),
        ending in prop::sample::select(vec!["\n", "\r\n", "\r"]),
    ) {
        units(&input(lines.join(ending)));
    }

    #[test]
    fn no_text_of_a_procfile_becomes_a_key_or_a_second_command(
        procfile in "((web|a|release|_B):? ?)([ -~\t\r\u{1}é\u{2028}\n\"'\\\\#]|\\[process.x\\]\n|exec = |\"\"\"|'''|\\{env:A\\}|\\$PORT){0,40}",
        env in "([A-C]=?[ -~\n\"'\\\\#\u{1}é]{0,12}\n){0,4}",
    ) {
        safe::hold_procfile(&procfile, &env);
        safe::hold_supervisord(&procfile);
    }

    #[test]
    fn what_random_files_say_is_all_that_is_imported(input in random::input(), foreman in random_procfile::input()) {
        safe::hold_supervisord(&input.files[0].1);
        safe::hold_procfile(&foreman.procfile, &foreman.env);
    }

    #[test]
    fn what_is_imported_passes_the_check(input in random::input()) {
        units(&input);
    }
}
