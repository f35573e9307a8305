"""How long and how large an answer over HTTP may be (docs/llm.md, clauses D-4 to D-6)."""

from __future__ import annotations

from acp_server.base.values import value


@value
class HttpLimits:
    """Times in seconds, sizes in bytes.

    Attributes:
        connect: for the connection, TLS included.
        first_byte: from the start of the request to the head of the answer.
        silence: between two reads of the body; comments that keep the line alive count as bytes.
        ending: as silence, once the answer has said why it ends: what may still come is its usage.
        progress: between two events of a stream, so that a line kept alive for ever ends too.
        error_bytes: of the body of an answer with an error status; the rest is not read.
        document_bytes: of a JSON document where a stream was promised.
    """

    connect: float = 10.0
    first_byte: float = 120.0
    silence: float = 300.0
    ending: float = 5.0
    progress: float = 1800.0
    error_bytes: int = 64 * 1024
    document_bytes: int = 32 * 1024 * 1024
