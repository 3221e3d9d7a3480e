/// Something that is fed with bytes.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name, also as `cargo fuzz` has it.
    pub name: &'static str,
    /// Takes any bytes; panics where something is wrong.
    pub check: fn(&[u8]),
    /// Inputs that other inputs are made from.
    pub seeds: &'static [&'static [u8]],
    /// What inputs are likely to have in them.
    pub words: &'static [&'static [u8]],
}
