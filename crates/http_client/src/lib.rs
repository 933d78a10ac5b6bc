//! HTTP clients: TLS set-up, the URLs that may receive secrets, and server-sent events with size limits.

mod client;
mod sse;
mod url;

pub use client::{build_client, client_builder, install_tls, root_cause};
pub use sse::{SseEvents, is_too_long, sse_events};
pub use url::{check_url, join_path, locality, parse_safe_url};
