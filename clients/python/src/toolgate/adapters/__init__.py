"""Adapters that offer a session's tools to other frameworks. Each needs its own extra."""
