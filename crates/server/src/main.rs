//! copycat
fn main() {}
