"""The floor: the least Python program that speaks the protocol and relays a model's stream. It keeps no log.

Answers initialize before it imports what the rest needs, holds sessions as bare ids, talks HTTP/1.0 over plain
sockets, checks nothing and survives nothing. What a server costs above this is what its promises cost.
"""

from __future__ import annotations

import json
import os

INITIALIZED = b'{"protocolVersion":1,"agentCapabilities":{"loadSession":false},"authMethods":[]}'
UPDATE = b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"%b","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":%b}}}}\n'  # noqa: E501 - one frame, one line


def answer(request_id: object, result: bytes) -> bytes:
    """Return a response line."""
    return b'{"jsonrpc":"2.0","id":' + json.dumps(request_id).encode() + b',"result":' + result + b"}\n"


def first_line() -> tuple[bytes, bytes]:
    """Return the first line of standard input and what came behind it."""
    received = b""
    while b"\n" not in received:
        data = os.read(0, 65536)
        if not data:
            raise SystemExit
        received += data
    line, _, rest = received.partition(b"\n")
    return line, rest


def main() -> None:
    """Answer initialize, then relay until standard input ends."""
    line, rest = first_line()
    os.write(1, answer(json.loads(line)["id"], INITIALIZED))
    relay(rest)


def relay(received: bytes) -> None:
    """Serve sessions with one selector and no thread."""
    import selectors  # noqa: PLC0415 - not before the first answer
    import socket  # noqa: PLC0415

    selector = selectors.DefaultSelector()
    selector.register(0, selectors.EVENT_READ)
    turns: dict[bytes, tuple[object, socket.socket]] = {}
    texts: dict[socket.socket, tuple[bytes, bytes]] = {}
    count = 0

    def start(message: dict[str, dict[str, object]]) -> None:
        session = str(message["params"]["sessionId"]).encode()
        prompt = message["params"]["prompt"]
        body = json.dumps({"stream": True, "messages": [{"role": "user", "content": prompt}]}).encode()
        host, _, port = os.environ["OPENAI_BASE_URL"].split("/")[2].partition(":")
        connection = socket.create_connection((host, int(port)))
        connection.sendall(b"POST /v1/chat/completions HTTP/1.0\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
        turns[session] = message["id"], connection
        texts[connection] = session, b""
        selector.register(connection, selectors.EVENT_READ)

    def stop(session: bytes, reason: bytes) -> None:
        request_id, connection = turns.pop(session)
        selector.unregister(connection)
        texts.pop(connection)
        connection.close()
        write(answer(request_id, b'{"stopReason":"' + reason + b'"}'))

    def pass_on(connection: socket.socket) -> None:
        session, kept = texts[connection]
        data = connection.recv(262144)
        *events, kept = (kept + data).split(b"\n\n")
        texts[connection] = session, kept
        frames = []
        for event in events:
            if b'"content":' in event:
                payload = json.loads(event[event.index(b"data: ") + 6 :])
                text = json.dumps(payload["choices"][0]["delta"]["content"]).encode()
                frames.append(UPDATE % (session, text))
        write(b"".join(frames))
        if not data:
            stop(session, b"end_turn")

    while True:
        *lines, received = received.split(b"\n")
        for line in lines:
            message = json.loads(line)
            method = message.get("method")
            if method == "session/new":
                count += 1
                write(answer(message["id"], b'{"sessionId":"s%d"}' % count))
            elif method == "session/prompt":
                start(message)
            elif method == "session/cancel" and message["params"]["sessionId"].encode() in turns:
                stop(message["params"]["sessionId"].encode(), b"cancelled")
        for key, _ in selector.select():
            if key.fileobj == 0:
                data = os.read(0, 262144)
                if not data:
                    return
                received += data
            elif isinstance(key.fileobj, socket.socket) and key.fileobj in texts:
                pass_on(key.fileobj)


def write(data: bytes) -> None:
    """Write all of it to standard output."""
    while data:
        data = data[os.write(1, data) :]


if __name__ == "__main__":
    main()
