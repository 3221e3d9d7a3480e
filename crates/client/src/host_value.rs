//! Values of the host that the client hands on without looking into them.

use std::any::Any;
use std::fmt;
use std::rc::Rc;

use crate::output::Encoding;

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

/// Output that the host keeps, as text or as bytes: it can be larger than what the client's own memory is to hold.
#[derive(Clone, Debug, Default)]
pub struct HostOutput {
    value: Option<HostValue>,
    length: u32,
    encoding: Encoding,
}

impl HostOutput {
    /// What is kept as this value, of so many UTF-16 code units or bytes.
    pub fn new(value: HostValue, length: u32, encoding: Encoding) -> Self {
        Self { value: Some(value), length, encoding }
    }

    /// No output yet.
    pub fn empty(encoding: Encoding) -> Self {
        Self { value: None, length: 0, encoding }
    }

    /// What the host keeps it as; None for what is empty and was never given to the host.
    pub fn value(&self) -> Option<&HostValue> {
        self.value.as_ref()
    }

    /// How many UTF-16 code units it has, or bytes.
    pub fn length(&self) -> u32 {
        self.length
    }

    /// Whether it is text or bytes.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }
}
