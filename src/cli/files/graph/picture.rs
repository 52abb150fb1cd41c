//! The picture as a value, and as text in two languages.

use std::fmt::Write as _;

use crate::model::{Group, Process, Start};
use crate::unit::name;

/// What a box represents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Target,
    Process,
    Setup,
    Socket,
    Timer,
    Outside,
}

/// What an arrow from one box to another means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Arrow {
    /// The first starts the second.
    Wants,
    /// The second waits until the first is ready.
    Before,
    /// The second starts only if the first succeeded.
    Gates,
}

/// Boxes and arrows.
#[derive(Debug, Default)]
pub(super) struct Picture {
    title: String,
    boxes: Vec<(String, String, Shape)>,
    arrows: Vec<(String, String, Arrow)>,
}

impl Picture {
    /// The picture of a group: its target first, then setup steps and processes, each with its sockets and timer, and
    /// what lies outside. All instances of a process are one box.
    pub(super) fn of(group: &Group) -> Self {
        let target = name::target(&group.name);
        let mut picture = Self { title: target.clone(), ..Self::default() };
        picture.add(&target, target.clone(), Shape::Target);
        for (step, setup) in &group.setup {
            picture.add(step.as_str(), step.to_string(), Shape::Setup);
            picture.arrow(&target, step.as_str(), Arrow::Wants);
            picture.waits(step.as_str(), &setup.after, &setup.gated_by, &setup.after_units);
        }
        for (process, definition) in &group.processes {
            picture.process(group, process, definition, &target);
        }
        for (units, arrow) in
            [(&group.wants, Arrow::Wants), (&group.requires, Arrow::Gates), (&group.after, Arrow::Before)]
        {
            for unit in units {
                picture.outside(unit);
                match arrow {
                    Arrow::Wants => picture.arrow(&target, unit, arrow),
                    _ => picture.arrow(unit, &target, arrow),
                }
            }
        }
        for unit in &group.before {
            picture.outside(unit);
            picture.arrow(&target, unit, Arrow::Before);
        }
        for unit in &group.wanted_by {
            picture.outside(unit);
            picture.arrow(unit, &target, Arrow::Wants);
        }
        picture
    }

    fn process(&mut self, group: &Group, process: &name::ProcessName, definition: &Process, target: &str) {
        let starter = match definition.start {
            _ if definition.hold => Some("held"),
            Start::Manual => Some("manual"),
            Start::Auto | Start::Timed(_) => None,
        };
        let mut label = process.to_string();
        if let Some(instances) = &definition.instances {
            let _ = write!(label, " × {}", instances.len());
        }
        if let Some(starter) = starter {
            let _ = write!(label, " ({starter})");
        }
        self.add(process.as_str(), label, Shape::Process);
        if definition.is_awaited() {
            self.arrow(target, process.as_str(), Arrow::Wants);
        }
        self.waits(process.as_str(), &definition.after, &definition.gated_by, &definition.after_units);
        for socket in &definition.sockets {
            let unit = name::socket(&group.name, process, socket.name.as_ref(), socket.each_instance);
            self.add(&unit, unit.clone(), Shape::Socket);
            self.arrow(&unit, process.as_str(), Arrow::Wants);
            if definition.is_awaited() {
                self.arrow(target, &unit, Arrow::Wants);
            }
        }
        if let Start::Timed(_) = definition.start {
            let unit = name::timer(&group.name, process);
            self.add(&unit, unit.clone(), Shape::Timer);
            self.arrow(&unit, process.as_str(), Arrow::Wants);
            if !definition.hold {
                self.arrow(target, &unit, Arrow::Wants);
            }
        }
    }

    fn waits(&mut self, member: &str, after: &[name::ProcessName], gates: &[name::ProcessName], units: &[String]) {
        after.iter().for_each(|other| self.arrow(other.as_str(), member, Arrow::Before));
        gates.iter().for_each(|step| self.arrow(step.as_str(), member, Arrow::Gates));
        for unit in units {
            self.outside(unit);
            self.arrow(unit, member, Arrow::Before);
        }
    }

    fn add(&mut self, id: &str, label: String, shape: Shape) {
        self.boxes.push((id.to_owned(), label, shape));
    }

    fn outside(&mut self, unit: &str) {
        if !self.boxes.iter().any(|(id, ..)| id == unit) {
            self.add(unit, unit.to_owned(), Shape::Outside);
        }
    }

    fn arrow(&mut self, from: &str, to: &str, arrow: Arrow) {
        self.arrows.push((from.to_owned(), to.to_owned(), arrow));
    }

    /// For `dot`, Graphviz's "DOT language".
    pub(super) fn dot(&self) -> String {
        let quoted = |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
        let mut text =
            String::from("// dashed: starts · plain: is waited for until ready · bold: must have succeeded\n");
        let _ = writeln!(text, "digraph {} {{\n    rankdir=LR;\n    node [shape=box];", quoted(&self.title));
        for (id, label, shape) in &self.boxes {
            let shape = match shape {
                Shape::Target => "shape=doubleoctagon",
                Shape::Process => "shape=box",
                Shape::Setup => "shape=box, style=rounded",
                Shape::Socket => "shape=cds",
                Shape::Timer => "shape=ellipse",
                Shape::Outside => "shape=box, style=dashed",
            };
            let _ = writeln!(text, "    {} [label={}, {shape}];", quoted(id), quoted(label));
        }
        for (from, to, arrow) in &self.arrows {
            let style = match arrow {
                Arrow::Wants => " [style=dashed]",
                Arrow::Before => "",
                Arrow::Gates => " [style=bold]",
            };
            let _ = writeln!(text, "    {} -> {}{style};", quoted(from), quoted(to));
        }
        text + "}\n"
    }

    /// For Mermaid: a flowchart. Its boxes have numbers, as some names are words of its grammar.
    pub(super) fn mermaid(&self) -> String {
        let quoted = |text: &str| format!("\"{}\"", text.replace('"', "#quot;"));
        let number = |id: &str| self.boxes.iter().position(|(known, ..)| known == id);
        let mut text = String::from(
            "%% dotted: starts · plain: is waited for until ready · thick: must have succeeded\nflowchart LR\n",
        );
        for (at, (_, label, shape)) in self.boxes.iter().enumerate() {
            let (open, close) = match shape {
                Shape::Target => ("{{", "}}"),
                Shape::Process | Shape::Outside => ("[", "]"),
                Shape::Setup => ("(", ")"),
                Shape::Socket => (">", "]"),
                Shape::Timer => ("([", "])"),
            };
            let class = if *shape == Shape::Outside { ":::outside" } else { "" };
            let _ = writeln!(text, "    n{at}{open}{}{close}{class}", quoted(label));
        }
        for (from, to, arrow) in &self.arrows {
            let line = match arrow {
                Arrow::Wants => "-.->",
                Arrow::Before => "-->",
                Arrow::Gates => "==>",
            };
            // Both ends are boxes: a process is only after what the group has, or what was added as outside.
            if let (Some(from), Some(to)) = (number(from), number(to)) {
                let _ = writeln!(text, "    n{from} {line} n{to}");
            }
        }
        text + "    classDef outside stroke-dasharray: 5 5\n"
    }
}
