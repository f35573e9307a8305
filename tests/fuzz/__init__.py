"""Mutated lines against a live server: `python -m tests.fuzz lines --count N --seed S`."""
