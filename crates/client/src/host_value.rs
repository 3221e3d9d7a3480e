//! Values of the host that the client hands on without looking into them.

use std::any::Any;
use std::fmt;
use std::rc::Rc;

/// A value of the host's, such as a JavaScript value. The client can only clone and drop it.
#[derive(Clone)]
pub struct HostValue(Rc<dyn Any>);

impl HostValue {
    /// Makes a value opaque.
    pub fn new<T: 'static>(value: T) -> Self {
        Self(Rc::new(value))
    }

    /// The value, if it is of this type: for the host that has made it.
    pub fn downcast_ref<T: 'static>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }
}

impl fmt::Debug for HostValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HostValue")
    }
}

/// A text that the host keeps: output can be larger than what the client's own memory is to hold.
#[derive(Clone, Debug, Default)]
pub struct HostText {
    value: Option<HostValue>,
    length: u32,
}

impl HostText {
    /// A text of so many UTF-16 code units.
    pub fn new(value: HostValue, length: u32) -> Self {
        Self { value: Some(value), length }
    }

    /// What the host keeps it as; None for a text that is empty and was never given to the host.
    pub fn value(&self) -> Option<&HostValue> {
        self.value.as_ref()
    }

    /// How many UTF-16 code units it has.
    pub fn length(&self) -> u32 {
        self.length
    }
}
