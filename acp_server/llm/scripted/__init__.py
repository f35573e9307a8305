"""The `scripted` provider: answers from a small script language, for the demo, tests and benchmarks."""
