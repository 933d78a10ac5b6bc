"""The tools of a session for other frameworks, each behind an extra of its own."""
