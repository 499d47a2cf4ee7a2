//! The project's own files, and Rust text without comments and strings.

use std::path::{Path, PathBuf};

use anyhow::Result;
use xshell::{Shell, cmd};

/// Every file git knows or would take, relative to the root.
pub(crate) fn files(sh: &Shell) -> Result<Vec<PathBuf>> {
    let list = cmd!(sh, "git ls-files --cached --others --exclude-standard").quiet().read()?;
    let mut files: Vec<PathBuf> = list.lines().map(PathBuf::from).filter(|path| sh.path_exists(path)).collect();
    files.sort();
    files.dedup();
    Ok(files)
}

/// Whether a file is Rust source.
pub(crate) fn is_rust(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "rs")
}

/// `text` with comments, strings and character literals blanked out; line numbers stay.
pub(crate) fn code(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let rest = &text[at..];
        let end = at + token_to_blank(rest, out.last().copied());
        if end > at {
            out.extend(bytes[at..end].iter().map(|byte| if *byte == b'\n' { b'\n' } else { b' ' }));
            at = end;
        } else {
            let next = at + rest.chars().next().map_or(1, char::len_utf8);
            out.extend_from_slice(&bytes[at..next]);
            at = next;
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Length of the comment or literal that `rest` starts with, or 0.
fn token_to_blank(rest: &str, before: Option<u8>) -> usize {
    let until = |mark: &str, from: usize| rest[from..].find(mark).map_or(rest.len(), |at| from + at + mark.len());
    let in_word = before.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    if rest.starts_with("/*") {
        return block_comment(rest);
    }
    let raw = rest.strip_prefix("br").or(rest.strip_prefix('r')).filter(|_| !in_word);
    if let Some(tail) = raw {
        let hashes = tail.len() - tail.trim_start_matches('#').len();
        if tail[hashes..].starts_with('"') {
            let from = rest.len() - tail.len() + hashes + 1;
            return until(&format!("\"{}", "#".repeat(hashes)), from);
        }
    }
    let quote = match rest.as_bytes() {
        [b'"', ..] => b'"',
        // A lifetime has no closing quote one character, or one escape, further on.
        [b'\'', b'\\', ..] => b'\'',
        [b'\'', ..] if rest.chars().nth(2) == Some('\'') => b'\'',
        _ => return 0,
    };
    let mut escaped = false;
    for (at, byte) in rest.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            _ if byte == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// Length of a block comment with those nested in it.
fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0usize, 0);
    while at < rest.len() {
        match &rest.as_bytes()[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::code;

    #[test]
    fn blanks_what_is_not_code() {
        assert_eq!(code("a // unsafe\nb"), "a          \nb");
        assert_eq!(code("a /* x /* y */ z */ b").trim_end(), format!("a{}b", " ".repeat(19)));
        assert_eq!(
            code(r#"f("\" {", 'x', '\'')"#),
            format!("f({},    ,     )", " ".repeat(6)).replace(",    ,", ",    ,")
        );
        assert_eq!(code("fn f<'a>(x: &'a str) {}"), "fn f<'a>(x: &'a str) {}");
        assert_eq!(code("r##\"a \"# b\"## c"), format!("{}c", " ".repeat(14)));
        assert_eq!(code("for (x) b"), "for (x) b");
    }
}
