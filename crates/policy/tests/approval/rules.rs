//! What rules do to commands, tools, paths and hosts.
