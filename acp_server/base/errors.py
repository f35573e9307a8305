"""The one error base of the server: a stable code for programs, one plain sentence for a person."""

from __future__ import annotations


class ServerError(Exception):
    """A failure that may be told to the person.

    Attributes:
        code: a stable upper-case name that programs may match on.
        message: one plain sentence without secrets and without a traceback.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
