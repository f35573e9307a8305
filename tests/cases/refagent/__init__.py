"""A small, correct ACP agent that proves the case runners, and that can be made wrong in one way at a time.

`python -m tests.cases.refagent [--break FLAW]`; flaws.py names the ways. It knows nothing of the server's own code.
"""
