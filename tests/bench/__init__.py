"""Figures of the real server over real pipes, each beside a floor measured in the same run (docs/testing.md)."""
