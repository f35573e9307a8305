"""The entry point. Serving answers `initialize` before anything heavy is imported; all else is a subcommand.

On the start path: imports sys and os alone (docs/decisions/0002-initialize-before-imports.md).
"""

from __future__ import annotations

import os
import sys


def main() -> int:
    """Run the command that the arguments name; return its exit code."""
    arguments = sys.argv[1:]
    if arguments[-1:] == ["--login"]:  # a client appends it to whatever it starts the server with
        arguments = ["login"]
    if arguments[:1] == ["acp"]:
        return _serve(arguments[1:])
    if not arguments and not _is_terminal():
        return _serve([])
    from acp_server.cli.main import run  # noqa: PLC0415 - the start path must not pay for other commands

    return run(arguments)


def _is_terminal() -> bool:
    try:
        return os.isatty(0)
    except OSError:
        return False


def _serve(arguments: list[str]) -> int:
    options = None
    if arguments:
        from acp_server.cli.options import serve_options  # noqa: PLC0415 - only options pay for argparse

        options = serve_options(arguments)
    from acp_server.acp.start import first_exchange  # noqa: PLC0415 - other commands take nothing over
    from acp_server.jsonrpc.stdio import take_over  # noqa: PLC0415 - likewise

    parent = os.getppid()  # as it is before anything can have happened to it
    stdio = take_over()
    try:
        start = first_exchange(stdio.in_fd, stdio.out_fd, unstable=options is not None and options.unstable)
        if start.initialized is not None and options is None:
            from acp_server.app.first_list import serve_first_list  # noqa: PLC0415 - it comes after the first answer

            start.unread = serve_first_list(stdio.in_fd, stdio.out_fd, start.unread, os.environ)
    except BrokenPipeError:
        return 0
    except KeyboardInterrupt:
        return 130
    if start.ended and not start.unread.strip():
        return 0
    import gc  # noqa: PLC0415 - what costs time is loaded after the first answer

    gc.disable()  # until everything that stays is loaded
    from acp_server.app.serve import serve  # noqa: PLC0415 - what costs time is loaded after the first answer

    os._exit(serve(stdio, start, options, parent))  # a thread that waits for a host must not keep the process


if __name__ == "__main__":
    sys.exit(main())
