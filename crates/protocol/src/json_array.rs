//! The elements of a JSON array that arrives in pieces.

use crate::sse::MAX_EVENT_SIZE;

/// Cuts the text of a JSON array (RFC 8259), fed at any byte boundary, into its elements, holding
/// one unfinished element at most, of [`MAX_EVENT_SIZE`] bytes.
///
/// It looks only at what tells elements apart; whether an element is JSON is for its reader to say.
#[derive(Debug, Default)]
pub struct Elements {
    place: Place,
    element: Vec<u8>,
    /// How many brackets and braces of the element are open.
    depth: usize,
    string: InString,
    /// A comma came last, so that another element has to come.
    after_comma: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Before,
    Inside,
    After,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum InString {
    #[default]
    No,
    Yes,
    /// The byte before was a backslash.
    Escaped,
}

/// The text is not one JSON array that could be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAnArray {
    /// Something else stands before or behind the array.
    #[error("not a JSON array")]
    NotAlone,
    /// An element is too large to be held.
    #[error("an element of a JSON array is larger than {MAX_EVENT_SIZE} bytes")]
    ElementTooLarge,
}

impl Elements {
    /// Takes the next bytes and hands over the text of each element that they complete.
    ///
    /// # Errors
    /// [`NotAnArray`].
    pub fn feed(&mut self, chunk: &[u8], found: &mut dyn FnMut(&[u8])) -> Result<(), NotAnArray> {
        for &byte in chunk {
            match self.place {
                Place::Inside if self.element.len() >= MAX_EVENT_SIZE => {
                    return Err(NotAnArray::ElementTooLarge);
                }
                Place::Inside => self.inside(byte, found),
                Place::Before if byte == b'[' => self.place = Place::Inside,
                Place::Before | Place::After if byte.is_ascii_whitespace() => {}
                Place::Before | Place::After => return Err(NotAnArray::NotAlone),
            }
        }
        Ok(())
    }

    /// Whether the array has ended.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.place == Place::After
    }

    fn inside(&mut self, byte: u8, found: &mut dyn FnMut(&[u8])) {
        match self.string {
            InString::Yes => self.string = InString::after(byte),
            InString::Escaped => self.string = InString::Yes,
            InString::No => match byte {
                b'"' => self.string = InString::Yes,
                b'[' | b'{' => self.depth += 1,
                b',' | b']' if self.depth == 0 => return self.end_element(byte, found),
                b']' | b'}' => self.depth = self.depth.saturating_sub(1),
                _ if byte.is_ascii_whitespace() && self.element.is_empty() => return,
                _ => {}
            },
        }
        self.element.push(byte);
    }

    fn end_element(&mut self, byte: u8, found: &mut dyn FnMut(&[u8])) {
        // Beside a comma something has to stand; an empty array has no element.
        if byte == b',' || self.after_comma || !self.element.is_empty() {
            found(self.element.trim_ascii_end());
        }
        self.after_comma = byte == b',';
        self.element.clear();
        if byte == b']' {
            self.place = Place::After;
        }
    }
}

impl InString {
    /// Where a string is after one of its bytes that no backslash stands before.
    fn after(byte: u8) -> Self {
        match byte {
            b'\\' => Self::Escaped,
            b'"' => Self::No,
            _ => Self::Yes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elements(text: &[u8], size: usize) -> (Vec<Vec<u8>>, Result<bool, NotAnArray>) {
        let mut elements = Elements::default();
        let mut found = Vec::new();
        let result = text.chunks(size).try_for_each(|chunk| {
            elements.feed(chunk, &mut |element| found.push(element.to_vec()))
        });
        (found, result.map(|()| elements.is_complete()))
    }

    #[test]
    fn cuts_between_elements_only() {
        let text = br#" [ {"a":"],[\"\\"} , [1,[2]] ,"}" , 3 ] "#;
        for size in 1..=text.len() {
            let (found, result) = elements(text, size);
            assert_eq!(result, Ok(true));
            assert_eq!(found, [&br#"{"a":"],[\"\\"}"#[..], b"[1,[2]]", br#""}""#, b"3"]);
        }
    }

    #[test]
    fn an_empty_array_has_no_element() {
        assert_eq!(elements(b"[ ]", 1), (vec![], Ok(true)));
    }

    #[test]
    fn an_unfinished_array_is_not_complete() {
        assert_eq!(elements(b"[1,2", 1), (vec![b"1".to_vec()], Ok(false)));
        assert_eq!(elements(b"", 1), (vec![], Ok(false)));
    }

    #[test]
    fn something_else_is_refused() {
        assert_eq!(elements(b"<html>", 1).1, Err(NotAnArray::NotAlone));
        assert_eq!(elements(b"[] []", 1).1, Err(NotAnArray::NotAlone));
    }

    #[test]
    fn a_missing_element_is_handed_over_empty_for_its_reader_to_refuse() {
        assert_eq!(elements(b"[1,,2]", 1).0, [&b"1"[..], b"", b"2"]);
        assert_eq!(elements(b"[1,]", 1).0, [&b"1"[..], b""]);
    }

    #[test]
    fn a_missing_comma_is_left_for_the_reader_to_refuse() {
        assert_eq!(elements(b"[1 2 ]", 1).0, [&b"1 2"[..]]);
    }
}
