//! What a script answers, amid whatever else the target prints.

use crate::Nonce;
use crate::error::BackgroundErrorReason;

/// The sections of an answer, in order.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ScriptAnswer<'a>(Vec<(&'a str, &'a str)>);

/// Why there is no answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoAnswer {
    /// The script was not run to its end.
    Incomplete,
    Missing,
    /// The target says why it could not be done.
    Failed(String),
    /// The same, of what a caller can see to.
    Refused(BackgroundErrorReason, String),
}

impl<'a> ScriptAnswer<'a> {
    /// Takes the answer out of `output`: from the first line with the nonce up to its end.
    pub(super) fn find(output: &'a str, nonce: &Nonce) -> Result<Self, NoAnswer> {
        let mark = format!("\n{}:", nonce.as_str());
        let mut sections = Vec::new();
        // What comes before the first mark is not part of it.
        for section in output.split(mark.as_str()).skip(1) {
            let (name, text) = section.split_once('\n').ok_or(NoAnswer::Incomplete)?;
            match name {
                "end" => return Self(sections).checked(),
                name => sections.push((name, text)),
            }
        }
        Err(NoAnswer::Incomplete)
    }

    fn checked(self) -> Result<Self, NoAnswer> {
        if self.section("missing").is_some() {
            return Err(NoAnswer::Missing);
        }
        for refusal in [BackgroundErrorReason::Running, BackgroundErrorReason::Untrusted] {
            if let Some(message) = self.section(refusal.name()) {
                return Err(NoAnswer::Refused(refusal, message.trim().to_owned()));
            }
        }
        match self.section("failed") {
            Some(message) => Err(NoAnswer::Failed(message.trim().to_owned())),
            None => Ok(self),
        }
    }

    /// The text of a section, if there is one of that name.
    pub(super) fn section(&self, name: &str) -> Option<&'a str> {
        self.sections(&[name]).next().map(|(_, text)| text)
    }

    /// The sections of these names, in order, with their texts.
    pub(super) fn sections<'b>(
        &'b self,
        names: &'b [&str],
    ) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a, 'b> {
        self.0.iter().copied().filter(|(name, _)| names.contains(name))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn is_found_amid_noise(before in "[^\0]{0,20}", text in "[^\0]{0,20}", after in "[^\0]{0,20}") {
            let nonce = Nonce::of_bytes(*b"0123456789abcdef");
            let mark = nonce.as_str();
            let output = format!("{before}\n{mark}:a\n{text}\n{mark}:b\n\n{mark}:end\n{after}");
            prop_assert_eq!(ScriptAnswer::find(&output, &nonce), Ok(ScriptAnswer(vec![("a", text.as_str()), ("b", "")])));
        }
    }

    #[test]
    fn nothing_is_taken_of_one_that_is_cut() {
        let nonce = Nonce::of_bytes(*b"0123456789abcdef");
        let mark = nonce.as_str();
        let whole = format!("\n{mark}:a\ntext\n{mark}:end\n");
        for end in 0..whole.len() {
            assert_eq!(
                ScriptAnswer::find(whole.get(..end).unwrap(), &nonce),
                Err(NoAnswer::Incomplete),
                "{end}"
            );
        }
    }

    #[test]
    fn failures_are_told_apart() {
        let nonce = Nonce::of_bytes(*b"0123456789abcdef");
        let mark = nonce.as_str();
        let failed = format!("\n{mark}:a\nx\n{mark}:failed\nno room\n\n{mark}:end\n");
        let missing = format!("\n{mark}:missing\n\n{mark}:end\n");
        let running = format!("\n{mark}:running\nit is\n\n{mark}:end\n");
        assert_eq!(ScriptAnswer::find(&failed, &nonce), Err(NoAnswer::Failed("no room".into())));
        assert_eq!(ScriptAnswer::find(&missing, &nonce), Err(NoAnswer::Missing));
        let refused = NoAnswer::Refused(BackgroundErrorReason::Running, "it is".into());
        assert_eq!(ScriptAnswer::find(&running, &nonce), Err(refused));
    }
}
