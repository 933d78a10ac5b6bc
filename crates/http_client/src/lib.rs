//! HTTP clients: TLS set-up, the URLs that may receive secrets, and server-sent events with size limits.

mod client;
mod private_resolver;
mod sse;
mod url;

pub use client::{build_client, build_private_client, client_builder, find_cause, install_tls, root_cause};
pub use private_resolver::PublicAddressFault;
pub use sse::{SseEvents, is_too_long, sse_events};
pub use url::{check_url, join_path, locality, parse_checked_url, parse_safe_url};
