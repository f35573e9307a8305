"""Suites that take minutes or fetch something: for releases, by name only (docs/testing.md)."""
