//! herder
