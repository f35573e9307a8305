from __future__ import annotations

import pytest

from acp_server.base.cancel import CancelToken
from acp_server.base.json_value import freeze
from acp_server.sandbox.policy import Policy
from acp_server.sandbox.replacing import Version, digest_of
from acp_server.tools.beside import NothingBeside
from acp_server.tools.files import FileChange, SeenFiles
from acp_server.tools.remembering import keep_before, seen_before, seen_fact
from tests.support.file_rig import Context, FileRig, make_tree


class Ledger(NothingBeside):
    """Says in which order things become durable."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.order: list[str] = []

    async def keep(self, content: bytes) -> str | None:
        self.order.append(f"kept {content!r} before {len(self.context.recorded)} records")
        return "sha256-1"

    async def settle(self) -> None:
        self.order.append(f"settled {len(self.context.recorded)} records")


@pytest.mark.parametrize(
    ("version", "back"),
    [
        (Version(1_760_000_000_123_456_789, 3, 2**63, "d"), Version(0, 3, 0, "d")),
        (Version(1_760_000_000_123_456_789, 3, 2**63, None), Version(1_760_000_000_123_456_789, 3, 2**63, None)),
    ],
)
def test_a_version_comes_back_from_the_log(version: Version, back: Version) -> None:
    fact = seen_fact("/p/a", version)
    freeze(fact)
    assert list(seen_before([fact])) == [("/p/a", back)]


def test_what_is_no_fact_of_a_version_is_passed_over() -> None:
    assert list(seen_before([{}, {"path": "/a"}, {"path": 1, "size": 2}, {"path": "/a", "size": "x"}])) == []
    assert list(seen_before([{"path": "/a", "size": 1}])) == [("/a", Version(-1, 1, -1, None))]


async def test_bytes_and_record_are_durable_before_the_write() -> None:
    context = Context("/p", Policy("workspace-write", "/p"), CancelToken())
    context.beside = ledger = Ledger(context)
    await keep_before(context, FileChange("/p/a", b"old", b"new"))
    assert ledger.order == ["kept b'old' before 0 records", "settled 1 records"]
    before = {"digest": digest_of(b"old"), "size": 3, "kept": "sha256-1"}
    after = {"digest": digest_of(b"new"), "size": 3}
    assert context.recorded == [("file/change", {"path": "/p/a", "before": before, "after": after, "callId": "c"})]


async def test_a_file_that_was_not_there_has_nothing_to_keep() -> None:
    context = Context("/p", Policy("workspace-write", "/p"), CancelToken())
    context.beside = ledger = Ledger(context)
    await keep_before(context, FileChange("/p/a", None, b"new"))
    assert (ledger.order, context.recorded[0][1]["before"]) == (["settled 1 records"], None)


async def test_what_was_seen_in_an_earlier_life_counts_while_it_is_the_same(rig: FileRig) -> None:
    make_tree(rig.project, {"f": "a"})
    content = await rig.access(rig.context).files.read(str(rig.project / "f"), 10)
    seen = dict(seen_before([seen_fact(str(rig.project / "f"), content.version)]))
    rig.seen = SeenFiles(seen)
    assert "Edited" in await rig.text("edit", path="f", old_string="a", new_string="b")
