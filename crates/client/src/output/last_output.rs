//! The last part of an output.

use sandpipe_text::Text;

use crate::{Host, HostOutput};

/// How much of the output is kept, in bytes of UTF-8.
const MAX_BYTES: usize = 4 * 1024;

/// How much of the last line is part of a message, in characters.
const MAX_LINE_LENGTH: usize = 200;

/// The last part of an output, over both streams, for an error that tells how it ended.
#[derive(Default)]
pub(crate) struct LastOutput(String);

impl LastOutput {
    /// Takes the next text.
    pub(crate) fn push(&mut self, text: &str) {
        let end = end_of(text, MAX_BYTES);
        if end.len() < text.len() {
            // Something is missing between what came before and this.
            self.0.clear();
        }
        self.0.push_str(end);
        if self.0.len() > 2 * MAX_BYTES {
            self.0 = self.as_str().to_owned();
        }
    }

    fn as_str(&self) -> &str {
        end_of(&self.0, MAX_BYTES)
    }

    /// It, as the host keeps it. Who has no room for it does without.
    pub(crate) fn to_host(&self, host: &dyn Host) -> HostOutput {
        let mut text = Text::default();
        text.push_utf8(self.as_str().as_bytes());
        host.append_text(&HostOutput::default(), text.units()).unwrap_or_default()
    }

    /// The last line that is not empty, shortened.
    pub(crate) fn line(&self) -> String {
        let mut lines = self.as_str().lines().map(str::trim_end);
        let line = lines.rfind(|line| !line.is_empty()).unwrap_or_default();
        let mut excerpt: String = line.chars().take(MAX_LINE_LENGTH).collect();
        if excerpt.len() < line.len() {
            excerpt.push('…');
        }
        excerpt
    }
}

/// The last so many bytes of a text, in whole characters.
pub(super) fn end_of(text: &str, bytes: usize) -> &str {
    let start = text.ceil_char_boundary(text.len().saturating_sub(bytes));
    text.get(start..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_short_and_so_is_its_last_line() {
        let mut last = LastOutput::default();
        for line in 0..1000 {
            last.push(&format!("{line} {}\n\n", "é".repeat(300)));
        }
        assert!((4000..=MAX_BYTES).contains(&last.as_str().len()));
        assert_eq!(last.line().chars().count(), MAX_LINE_LENGTH + 1);
        assert!(last.line().starts_with("999 é"));
    }

    #[test]
    fn it_is_the_end_where_a_character_is_cut() {
        let mut last = LastOutput::default();
        last.push("before");
        last.push(&"𝄞".repeat(MAX_BYTES / 2));
        last.push("!");
        assert!(last.as_str().starts_with('𝄞') && last.as_str().ends_with("𝄞!"));
        last.push(&format!("{}x", "𝄞".repeat(MAX_BYTES / 2)));
        assert!(last.as_str().starts_with('𝄞'));
    }
}
