//! `docs/api/*.txt`: the public items of each crate, one a line, so that a change of the surface shows in a review.
//!
//! A scan of the text, not of the compiler's view: what a macro writes is not in it (the support table lists ops).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Result;
use xshell::Shell;

use crate::generate::{Generated, settle};
use crate::source::{code, files, is_rust};

/// Writes the lists, or with `check` fails if one is stale.
pub(crate) fn run(sh: &Shell, check: bool) -> Result<()> {
    let mut lists: BTreeMap<String, BTreeSet<String>> = Default::default();
    for path in files(sh)?.iter().filter(|path| path.starts_with("crates") && is_rust(path)) {
        let parts: Vec<String> = path.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        let [_, krate, src, rest @ ..] = &parts[..] else { continue };
        if src != "src" || rest.iter().any(|part| part == "bin" || part == "tests" || part == "tests.rs") {
            continue;
        }
        let mut module = krate.replace('-', "_");
        for part in rest.iter().map(|part| part.trim_end_matches(".rs")).filter(|part| *part != "lib") {
            module = format!("{module}::{part}");
        }
        lists.entry(krate.clone()).or_default().extend(items(&module, &code(&sh.read_file(path)?)));
    }
    let text = |list: &BTreeSet<String>| list.iter().map(|line| format!("{line}\n")).collect();
    let lists = lists
        .iter()
        .map(|(krate, list)| Generated::whole(Path::new("docs/api").join(format!("{krate}.txt")), text(list)));
    settle(sh, &lists.collect::<Vec<_>>(), check, "api")
}

/// What encloses a piece of text.
#[derive(Clone)]
enum Scope {
    /// A module, by path.
    Module(String),
    /// An inherent impl or a public trait, whose items (all of them in a trait) belong to a name.
    Items { owner: String, all: bool },
    /// A public struct or enum, whose fields (those marked `pub`, or all variants) belong to a name.
    Fields { owner: String, all: bool },
    /// Bodies, private items, trait impls, macros.
    Hidden,
}

/// The public items of a file without comments and strings, as `path: signature`.
fn items(module: &str, code: &str) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    let mut scopes = vec![Scope::Module(module.to_owned())];
    let (mut piece, mut nested) = (String::new(), 0i32);
    for letter in code.chars() {
        let scope = scopes.last().cloned().unwrap_or(Scope::Hidden);
        match letter {
            '(' | '[' => nested += 1,
            ')' | ']' => nested -= 1,
            '<' if matches!(scope, Scope::Fields { .. }) => nested += 1,
            '>' if matches!(scope, Scope::Fields { .. }) && !piece.ends_with('-') => nested -= 1,
            _ => {}
        }
        let (attributes, item) = split_attributes(&piece);
        let list = item.starts_with("use ") || item.starts_with("pub use ");
        let ends = match letter {
            ';' => nested == 0,
            '{' | '}' => nested == 0 && !list,
            ',' => nested == 0 && matches!(scope, Scope::Fields { .. }),
            _ => false,
        };
        if !ends {
            piece.push(letter);
            continue;
        }
        let shown = attributes.iter().all(|attribute| !attribute.contains("cfg(test)"));
        if shown {
            out.extend(line(&scope, item));
        }
        match letter {
            '{' => scopes.push(if shown { inside(&scope, item) } else { Scope::Hidden }),
            '}' => drop(scopes.pop()),
            _ => {}
        }
        piece.clear();
    }
    out
}

/// The line of an item, if it is public.
fn line(scope: &Scope, item: &str) -> Option<String> {
    let (owner, all) = match scope {
        Scope::Module(owner) => (owner, false),
        Scope::Items { owner, all } | Scope::Fields { owner, all } => (owner, *all),
        Scope::Hidden => return None,
    };
    let public = item.strip_prefix("pub ").or(Some(item).filter(|item| all && !item.is_empty()))?;
    Some(format!("{owner}: {}", public.split_whitespace().collect::<Vec<_>>().join(" ")))
}

/// The scope that an item's braces open.
fn inside(scope: &Scope, item: &str) -> Scope {
    let words: Vec<&str> =
        item.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty()).collect();
    match (scope, &words[..]) {
        (Scope::Module(path), ["pub", "mod", name, ..]) => Scope::Module(format!("{path}::{name}")),
        (Scope::Module(path), ["pub", "struct", name, ..]) => {
            Scope::Fields { owner: format!("{path}::{name}"), all: false }
        }
        (Scope::Module(path), ["pub", "enum", name, ..]) => {
            Scope::Fields { owner: format!("{path}::{name}"), all: true }
        }
        (Scope::Module(path), ["pub", "trait", name, ..]) => {
            Scope::Items { owner: format!("{path}::{name}"), all: true }
        }
        (Scope::Module(path), ["impl", ..]) if !item.contains(" for ") => {
            // `impl<T: Bound> Name<T>`: the name follows the parameters.
            let mut depth = 0;
            let item = item.replace("->", "  ");
            let tail = item["impl".len()..].char_indices().find(|(_, letter)| {
                depth += i32::from(*letter == '<') - i32::from(*letter == '>');
                depth == 0 && letter.is_alphabetic()
            });
            let name = tail.map_or("", |(at, _)| item["impl".len() + at..].split([' ', '<']).next().unwrap_or(""));
            Scope::Items { owner: format!("{path}::{name}"), all: false }
        }
        (Scope::Fields { owner, all: true }, [name, ..]) => {
            Scope::Fields { owner: format!("{owner}::{name}"), all: true }
        }
        _ => Scope::Hidden,
    }
}

/// Cuts the leading `#[...]` groups off a piece.
fn split_attributes(piece: &str) -> (Vec<&str>, &str) {
    let (mut rest, mut attributes) = (piece.trim(), vec![]);
    while rest.starts_with('#') {
        let mut depth = 0;
        let end = rest.char_indices().find_map(|(at, letter)| {
            depth += i32::from(letter == '[') - i32::from(letter == ']');
            (letter == ']' && depth == 0).then_some(at + 1)
        });
        let (attribute, tail) = rest.split_at(end.unwrap_or(rest.len()));
        attributes.push(attribute);
        rest = tail.trim_start();
    }
    (attributes, rest)
}

#[cfg(test)]
mod tests {
    use super::items;

    #[test]
    fn public_items_and_no_others() {
        let code = "
            #[derive(Clone)] pub struct A<T> { pub x: Vec<(T, u8)>, y: u8 }
            pub enum E { P, Q { z: u8 }, R(u8) }
            impl<T: Fn() -> u8> A<T> { pub fn f(&self) -> [u8; 2] { let g = 1; } fn h() {} }
            impl Clone for A<u8> { fn clone(&self) -> Self { } }
            pub trait R: Copy { fn m(&self); }
            pub use a::{b, c};
            pub(crate) fn k() {}
            #[cfg(test)] mod tests { pub fn t() {} }
            pub mod inner { pub const N: usize = 1; }";
        let found: Vec<String> = items("m", code).into_iter().collect();
        let want = [
            "m: enum E",
            "m: mod inner",
            "m: struct A<T>",
            "m: trait R: Copy",
            "m: use a::{b, c}",
            "m::A: fn f(&self) -> [u8; 2]",
            "m::A: x: Vec<(T, u8)>",
            "m::E: P",
            "m::E: Q",
            "m::E: R(u8)",
            "m::E::Q: z: u8",
            "m::R: fn m(&self)",
            "m::inner: const N: usize = 1",
        ];
        assert_eq!(found, want);
    }
}
