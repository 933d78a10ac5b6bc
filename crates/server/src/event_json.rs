//! Times and resource usage of calls as JSON.

use std::time::Duration;

use runtime::ProcessUsage;
use serde_json::{Value, json};

/// Returns the resources that a process used.
pub fn usage_json(usage: ProcessUsage) -> Value {
    json!({
        "wall_ms": millis_json(usage.wall),
        "user_ms": millis_json(usage.user),
        "system_ms": millis_json(usage.system),
        "peak_memory_bytes": usage.peak_memory,
        "stdout_bytes": usage.stdout,
        "stderr_bytes": usage.stderr,
    })
}

/// Returns a time in milliseconds.
pub fn millis_json(time: Duration) -> Value {
    json!(time.as_secs_f64() * 1000.0)
}
