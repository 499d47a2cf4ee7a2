//! Operators on tensors and numbers. They panic, at the caller, with the text of the error that the method of the
//! same name returns.
