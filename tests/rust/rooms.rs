//! The rooms of the crate: who may use whom.
