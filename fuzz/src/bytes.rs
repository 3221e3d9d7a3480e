//! What targets take out of their input.

/// Splits off a byte that decides something.
pub(crate) fn decision(input: &[u8]) -> (u8, &[u8]) {
    input.split_first().map_or((0, input), |(byte, rest)| (*byte, rest))
}

/// Cuts bytes as a network might: into pieces of 1 to 64 bytes, and of one byte now and then. The decision
/// says where.
pub(crate) fn cut(decision: u8, bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut random = fastrand::Rng::with_seed(decision.into());
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let most = if random.bool() { 3 } else { 64 };
        let size = random.usize(1..=most).min(rest.len());
        let (piece, after) = rest.split_at(size);
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

/// The same of a text, between characters.
pub(crate) fn cut_text(decision: u8, text: &str) -> impl Iterator<Item = &str> {
    let mut random = fastrand::Rng::with_seed(decision.into());
    let mut rest = text;
    std::iter::from_fn(move || {
        let most = if random.bool() { 3 } else { 64 };
        let size = rest.ceil_char_boundary(random.usize(1..=most));
        let (piece, after) = rest.split_at(size);
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}
