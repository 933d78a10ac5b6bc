//! A sample.

/// Adds two numbers.
pub fn add(a: u32, b: u32) -> u32 {
    a + b
}

// TODO(#2): subtract
