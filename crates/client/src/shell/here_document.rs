//! Here-documents (POSIX, 2.7.4).

/// The line that ends a here-document of this text: no line of it is the same. `unique` is what it can't
/// hold.
///
/// No line of it even begins the same, where that can be: dash 0.5.12 loses a byte where a line begins
/// like the delimiter and goes on with a character that is not ASCII.
pub(crate) fn delimiter(text: &str, unique: &str) -> String {
    let begins_none = |c: &char| text.lines().all(|line| !line.starts_with(*c));
    let characters = ('0'..='9').chain('A'..='Z').chain('a'..='z').chain("_~^@%+=:,./-".chars());
    let first = { characters }.find(begins_none).unwrap_or('~');
    format!("{first}{unique}")
}
