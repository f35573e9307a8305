"""Names for the ids that travel through the server. Each is opaque: compared and passed on, never parsed."""

from __future__ import annotations

from typing import NewType

SessionId = NewType("SessionId", str)
MessageId = NewType("MessageId", str)
CallId = NewType("CallId", str)
