//! The tools that only a session can have: somebody to ask, a conversation with a length, something to remember.

mod get_context_remaining;
mod get_memory;
mod list_memories;
mod remember;
mod request_user_input;

pub use get_context_remaining::{Gauge, GetContextRemaining};
pub use get_memory::GetMemory;
pub use list_memories::ListMemories;
pub use remember::Remember;
pub use request_user_input::{Inquiry, Person, RequestUserInput};
