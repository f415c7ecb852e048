//! The rooms of the crate: every import goes to a room below, and to one that `src/rooms.toml` names.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A room, as `src/rooms.toml` describes it.
#[derive(Debug, Default)]
struct Room {
    path: String,
    holds: String,
    uses: BTreeSet<String>,
}

impl Room {
    /// The path within `src`: `error`, `engine/codes`.
    fn name(&self) -> &str {
        let inside = self.path.strip_prefix("src/").expect("rooms are in src");
        inside.trim_end_matches('/').trim_end_matches(".rs")
    }
}

/// The rooms, from the ground up. The file is TOML, of which these few lines understand what it needs.
fn rooms(text: &str) -> Vec<Room> {
    let mut rooms: Vec<Room> = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if line == "[[room]]" {
            rooms.push(Room::default());
            continue;
        }
        let room = rooms.last_mut().expect("keys come after [[room]]");
        let (key, value) = line.split_once(" = ").expect("a key and a value");
        let strings = || value.split('"').skip(1).step_by(2).map(str::to_owned);
        match key {
            "path" => room.path = strings().next().expect("a path"),
            "holds" => room.holds = strings().next().expect("a sentence"),
            "uses" => room.uses = strings().collect(),
            _ => panic!("unknown key {key}"),
        }
    }
    rooms
}

/// The module of a file: `engine/codes/mod.rs` and `engine/codes.rs` are both `[engine, codes]`.
fn module(file: &str) -> Vec<String> {
    let path = file.trim_end_matches(".rs").trim_end_matches("/mod");
    path.split('/').map(str::to_owned).collect()
}

/// The room of a module, or of an item in one.
fn room_of(path: &[String], rooms: &[Room]) -> Option<usize> {
    let inside = |room: &Room| {
        let room: Vec<&str> = room.name().split('/').collect();
        path.len() >= room.len() && path.iter().zip(&room).all(|(part, room)| part == room)
    };
    (0..rooms.len()).filter(|&i| inside(&rooms[i])).max_by_key(|&i| rooms[i].name().len())
}

/// The paths that a source file names, from the root of the crate.
fn named(module: &[String], source: &str) -> Vec<Vec<String>> {
    let mut paths = Vec::new();
    // Modules inside the file, by their indentation: rustfmt puts the end of each at the same one.
    let mut inner: Vec<(usize, String)> = Vec::new();
    let code: Vec<&str> = source.lines().map(|line| line.split("//").next().unwrap_or("")).collect();
    for (n, line) in code.iter().enumerate() {
        let indent = line.len() - line.trim_start().len();
        if inner.last().is_some_and(|(at, _)| *at == indent) && line.trim() == "}" {
            inner.pop();
        }
        if let Some((_, name)) = line.strip_suffix(" {").and_then(|line| line.split_once("mod ")) {
            inner.push((indent, name.to_owned()));
        }
        let here: Vec<String> = module.iter().chain(inner.iter().map(|(_, name)| name)).cloned().collect();
        for (at, _) in line.match_indices("::") {
            let head = line[..at].rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or("");
            let base = match head {
                "crate" => Vec::new(),
                "super" if !line[..at - head.len()].ends_with("super::") => here[..here.len() - 1].to_vec(),
                _ => continue,
            };
            // A use may go on over several lines.
            let rest = format!("{}{}", &line[at + 2..], code[n + 1..].concat());
            tree(&base, &mut rest.as_str(), &mut paths);
        }
    }
    paths
}

/// Reads the rest of a path, which may branch: `a::{b, c::d}`.
fn tree(base: &[String], rest: &mut &str, paths: &mut Vec<Vec<String>>) {
    let mut path = base.to_vec();
    loop {
        let word: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        *rest = &rest[word.len()..];
        match word.as_str() {
            "" | "self" => {}
            "super" => drop(path.pop()),
            _ => path.push(word),
        }
        if let Some(after) = rest.strip_prefix("::") {
            *rest = after;
        } else {
            break;
        }
        if let Some(after) = rest.strip_prefix('{') {
            *rest = after;
            while !rest.is_empty() && !rest.starts_with('}') {
                tree(&path, rest, paths);
                *rest = rest.trim_start_matches([',', ' ', '*']);
            }
            *rest = rest.strip_prefix('}').unwrap_or(rest);
            return;
        }
    }
    *rest = rest.trim_start_matches([',', ' ', '*']);
    paths.push(path);
}

/// What is wrong with the imports of a file, and the rooms it uses.
fn check(file: &str, source: &str, rooms: &[Room]) -> (Vec<String>, BTreeSet<String>) {
    let (mut problems, mut used) = (Vec::new(), BTreeSet::new());
    let Some(own) = room_of(&module(file), rooms) else {
        return (vec![format!("src/{file} is in no room")], used);
    };
    for path in named(&module(file), source) {
        let text = path.join("::");
        match room_of(&path, rooms) {
            Some(other) if other == own => {}
            // Rooms inside one folder are told apart by their own paths only.
            None if module(file).starts_with(&path) => {}
            None => problems.push(format!("src/{file}: crate::{text} is in no room; name the item's own module")),
            Some(other) => {
                let name = rooms[other].name();
                if other > own {
                    problems.push(format!("src/{file}: crate::{text} is upward, in {name}"));
                } else if !rooms[own].uses.contains(name) {
                    problems.push(format!("src/{file}: {} may not use {name} (crate::{text})", rooms[own].name()));
                }
                used.insert(name.to_owned());
            }
        }
    }
    (problems, used)
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let files = entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] });
    files.filter(|path| path.extension().is_some_and(|e| e == "rs")).collect()
}

/// They only declare modules.
const ROOTS: [&str; 2] = ["lib.rs", "engine/mod.rs"];

#[test]
fn every_import_goes_down_to_a_room_that_is_named() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let rooms = rooms(&fs::read_to_string(root.join("src/rooms.toml")).expect("the rooms"));
    let mut problems = Vec::new();
    let mut used: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
    for path in sources(&root.join("src")) {
        let file = path.strip_prefix(root.join("src")).expect("a source").to_str().expect("a name").replace('\\', "/");
        if ROOTS.contains(&file.as_str()) {
            continue;
        }
        let (wrong, uses) = check(&file, &fs::read_to_string(&path).expect("a source"), &rooms);
        problems.extend(wrong);
        if let Some(own) = room_of(&module(&file), &rooms) {
            used.entry(own).or_default().extend(uses);
        }
    }
    for (i, room) in rooms.iter().enumerate() {
        assert!(root.join(&room.path).exists(), "{} does not exist", room.path);
        assert!(!room.holds.is_empty(), "{} holds nothing", room.path);
        let stale: Vec<_> = room.uses.difference(used.get(&i).unwrap_or(&BTreeSet::new())).cloned().collect();
        if !stale.is_empty() {
            problems.push(format!("{} does not use {stale:?}", room.path));
        }
    }
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

/// The check itself, on sources that break the rules.
#[test]
fn wrong_imports_are_noticed() {
    let text = "[[room]]\npath = \"src/low.rs\"\nholds = \"a\"\nuses = []\n[[room]]\npath = \"src/mid/a.rs\"\nholds = \"b\"\n\
                uses = [\"low\"]\n[[room]]\npath = \"src/mid/b.rs\"\nholds = \"c\"\nuses = [\"mid/a\"]\n";
    let rooms = rooms(text);
    let wrong = |file: &str, source: &str| check(file, source, &rooms).0;
    assert_eq!(wrong("mid/b.rs", "use super::a::{Item, Other};\nuse crate::mid::a;\n"), [""; 0]);
    assert_eq!(wrong("mid/a.rs", "use crate::low::{\n    One,\n    two::{Three, Four},\n};\n"), [""; 0]);
    assert_eq!(wrong("mid/a.rs", "mod tests {\n    use super::*;\n}\nuse super::a::X;\n"), [""; 0]);
    assert_eq!(wrong("mid/a.rs", "// use crate::mid::b::Y;\n"), [""; 0]);
    assert_eq!(wrong("mid/a.rs", "use super::b::Y;\n"), ["src/mid/a.rs: crate::mid::b::Y is upward, in mid/b"]);
    assert_eq!(wrong("low.rs", "fn f() { crate::mid::a::g() }\n").len(), 1);
    assert_eq!(wrong("mid/b.rs", "mod inner {\n    use super::super::super::low::Z;\n}\n").len(), 1);
    assert_eq!(wrong("mid/b.rs", "use crate::low::Z;\n"), ["src/mid/b.rs: mid/b may not use low (crate::low::Z)"]);
    assert_eq!(wrong("mid/b.rs", "use crate::Root;\n").len(), 1);
    assert_eq!(wrong("other.rs", ""), ["src/other.rs is in no room"]);
}
