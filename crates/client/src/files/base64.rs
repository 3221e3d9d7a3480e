//! Base64 (RFC 4648, section 4). A crate for it would be 3 KB of the module, for what agents without bytes alone need.

/// The bytes that a text stands for; None where it is no base64.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=');
    let padding = text.len() - digits.len();
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for four in digits.as_bytes().chunks(4) {
        let mut bits = 0_u32;
        for digit in four {
            bits = bits << 6 | value_of(*digit)?;
        }
        let missing = 4 - four.len();
        bits <<= 6 * missing;
        let [_, three @ ..] = bits.to_be_bytes();
        bytes.extend_from_slice(three.get(..three.len() - missing)?);
    }
    // One digit alone is no byte; what is short is filled up, or not at all.
    let is_whole =
        digits.len() % 4 != 1 && (padding == 0 || text.len().is_multiple_of(4) && padding <= 2);
    is_whole.then_some(bytes)
}

fn value_of(digit: u8) -> Option<u32> {
    let value = match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(value.into())
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn the_examples_of_the_rfc_are_read() {
        for (text, bytes) in [
            ("", ""),
            ("Zg==", "f"),
            ("Zm8=", "fo"),
            ("Zm9v", "foo"),
            ("Zm9vYg==", "foob"),
            ("Zm9vYmE=", "fooba"),
            ("Zm9vYmFy", "foobar"),
            ("Zm9vYg", "foob"),
        ] {
            assert_eq!(decode(text).as_deref(), Some(bytes.as_bytes()), "{text}");
        }
        assert_eq!(decode("+/8A").as_deref(), Some(&[0xFB, 0xFF, 0][..]));
    }

    #[test]
    fn what_is_no_base64_is_none() {
        for text in ["Z", "Zg=", "Zm9v====", "Zm9vY", "Z g=", "Zg-_", "Z=g=", "="] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
