"""The cases of faults met in agents, and the commands that run them against an agent over its real pipes.

`python -m tests.cases.rpc`, `.edit` and `.wire` each run one folder; README.md beside this file is the vocabulary.
"""
