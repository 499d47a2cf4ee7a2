//! Every rule.
