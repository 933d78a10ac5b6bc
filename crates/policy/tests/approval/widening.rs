//! What is asked after something was refused.
