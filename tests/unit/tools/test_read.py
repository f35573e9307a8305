"""The tool that reads."""

from __future__ import annotations

import json

import pytest

from acp_server.base.cancel import BY_USER, Cancelled
from acp_server.base.errors import ServerError
from acp_server.messages.blocks import ImageBlock, TextBlock
from acp_server.sandbox.refusals import Denied
from acp_server.sandbox.verdict import Refusal
from acp_server.tools.read import ReadArguments
from acp_server.tools.tool import Card, Effect, Location, ToolError
from tests.support.file_rig import FileRig, make_tree
from tests.support.pictures import KINDS, large_png, png

OTHER_IMAGE = "PNG, JPEG, GIF and WebP are the images that can be looked at"
TOO_LARGE = "3,750,000 are the most, so make a smaller copy of it first"
BROKEN_IMAGE = "it is damaged or cut, so no model can look at it"


async def failure(rig: FileRig, name: str, **arguments: object) -> tuple[str, str]:
    with pytest.raises(ToolError) as caught:
        await rig.run(name, **arguments)
    return caught.value.code, caught.value.message


async def test_lines_come_with_numbers(rig: FileRig) -> None:
    make_tree(rig.project, {"a.txt": "one\n\tzwei\n\nvier"})
    result = await rig.run("read", path="a.txt")
    path = str(rig.project / "a.txt")
    assert await rig.text("read", path="a.txt") == "     1\tone\n     2\t\tzwei\n     3\t\n     4\tvier"
    assert result.card == Card("Read a.txt", "read", (Location(path, 1),))
    assert result.raw_output == {"path": path, "first": 1, "last": 4, "total": 4, "more": False}


async def test_a_range_says_how_to_read_on(rig: FileRig) -> None:
    make_tree(rig.project, {"a.txt": "".join(f"{n}\n" for n in range(1, 11))})
    result = await rig.run("read", path="a.txt", offset=4, limit=3)
    assert await rig.text("read", path="a.txt", offset=4, limit=3) == (
        "     4\t4\n     5\t5\n     6\t6\n[lines 4 to 6 of 10 shown; read on with offset 7]"
    )
    assert result.card == Card("Read a.txt (lines 4-6)", "read", (Location(str(rig.project / "a.txt"), 4),))
    assert await rig.text("read", path="a.txt", offset=9) == "     9\t9\n    10\t10"


async def test_the_default_page_has_two_thousand_lines_or_32_kib(rig: FileRig) -> None:
    make_tree(rig.project, {"short": "x\n" * 2500, "long": ("y" * 1000 + "\n") * 100})
    assert (await rig.text("read", path="short")).endswith(
        "[lines 1 to 2,000 of 2,500 shown; read on with offset 2001]"
    )
    text = await rig.text("read", path="long")
    assert text.endswith("[lines 1 to 32 of 100 shown; read on with offset 33]")
    assert len(text) < 33 * 1024


async def test_a_huge_line_is_cut_with_a_word(rig: FileRig) -> None:
    make_tree(rig.project, {"min.js": "x" * 120_000})
    assert await rig.text("read", path="min.js") == f"     1\t{'x' * 2000}… [118,000 more characters]"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"a\r\nb\r\n", "     1\ta\n     2\tb\n[CRLF line ends; edits keep it so]"),
        (b"caf\xe9", "     1\tcafé\n[windows-1252, guessed; edits keep it so]"),
        (
            b"\xff\xfe" + "hé\n".encode("utf-16-le"),
            "     1\thé\n[UTF-16 (little endian) with a byte order mark; edits keep it so]",
        ),
        (b"", "[the file is empty]"),
        (b"\n", "     1\t"),
    ],
)
async def test_uncommon_files_are_told(rig: FileRig, data: bytes, said: str) -> None:
    make_tree(rig.project, {"f": data})
    assert await rig.text("read", path="f") == said


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("d.pdf", b"%PDF-1.7\n\0", "d.pdf is a PDF document, 10 bytes, not text"),
        ("prog", b"\x7fELF\2\1\1\0", "prog is a program or library (ELF), 8 bytes, not text"),
        ("v.mp4", b"\0\0\0\x18ftypisom", "v.mp4 is MP4 media, 12 bytes, not text"),
        ("i.avif", b"\0\0\0\x18ftypavif", f"i.avif is an AVIF or HEIC image, 12 bytes; {OTHER_IMAGE}"),
        ("b.bmp", b"BM\0\0", f"b.bmp is a BMP image, 4 bytes; {OTHER_IMAGE}"),
        ("t.tar", b"\0" * 257 + b"ustar", "t.tar is a tar archive, 262 bytes, not text"),
        ("x.bin", b"a\0b", "x.bin is a binary file, 3 bytes, not text"),
    ],
)
async def test_a_binary_is_refused_by_its_kind(rig: FileRig, name: str, data: bytes, said: str) -> None:
    make_tree(rig.project, {name: data})
    assert await failure(rig, "read", path=name) == ("NOT_TEXT", said)


@pytest.mark.parametrize(
    ("name", "data", "code", "said"),
    [
        (
            "p.png",
            b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\2\x80\0\0\1\xe0",
            "BROKEN_IMAGE",
            f"p.png is a PNG image, 640 x 480, 24 bytes; {BROKEN_IMAGE}",
        ),
        ("w.webp", b"RIFF\0\0\0\0WEBP", "BROKEN_IMAGE", f"w.webp is a WebP image, 12 bytes; {BROKEN_IMAGE}"),
        (
            "wide.png",
            png(8001, 1),
            "TOO_LARGE",
            f"wide.png is a PNG image, 8001 x 1, {len(png(8001, 1))} bytes; 8,000 pixels a side are the most",
        ),
        (
            "long.png",
            large_png(3_750_001),
            "TOO_LARGE",
            f"long.png is a PNG image, 1 x 1, 3,750,001 bytes; {TOO_LARGE}",
        ),
        (
            "huge.png",
            large_png(4_500_000),
            "TOO_LARGE",
            f"huge.png is a PNG image, 1 x 1, 4,500,000 bytes; {TOO_LARGE}",
        ),
    ],
)
async def test_an_image_that_cannot_be_shown_is_told(
    rig: FileRig, name: str, data: bytes, code: str, said: str
) -> None:
    make_tree(rig.project, {name: data})
    assert await failure(rig, "read", path=name) == (code, said)
    assert rig.context.images == {}


@pytest.mark.parametrize("kind", KINDS)
async def test_an_image_is_kept_and_named(rig: FileRig, kind: str) -> None:
    media_type, width, height, data = KINDS[kind]
    make_tree(rig.project, {"shown": data})
    result = await rig.run("read", path="shown")
    words = f"[shown: {media_type}, {width} x {height} pixels, {len(data)} bytes; the image follows]"
    picture = ImageBlock("kept-0", media_type, len(data), width, height, "shown")
    assert result.content == (TextBlock(words), picture)
    card = Card("Read shown", "read", (Location(str(rig.project / "shown"), 1),))
    assert (result.card, rig.context.images) == (card, {"kept-0": data})


async def test_a_text_that_begins_as_an_image_does_is_a_text(rig: FileRig) -> None:
    make_tree(rig.project, {"f": "GIF89a is a kind of image.\n"})
    assert await rig.text("read", path="f") == "     1\tGIF89a is a kind of image."


async def test_an_image_is_not_kept_for_a_model_that_reads_none(rig: FileRig) -> None:
    make_tree(rig.project, {"p.png": png()})
    rig.context.reads_images = False
    what = f"p.png is a PNG image, 3 x 2, {len(png())} bytes"
    said = f"{what}; the model of this session reads no images, another model might"
    assert await failure(rig, "read", path="p.png") == ("NOT_TEXT", said)


async def test_an_image_that_cannot_be_kept_is_told(rig: FileRig) -> None:
    make_tree(rig.project, {"p.png": png()})
    rig.context.full = ServerError("DISK_FULL", "The disk is full.")
    said = f"p.png is a PNG image, 3 x 2, {len(png())} bytes; it could not be kept: The disk is full."
    assert await failure(rig, "read", path="p.png") == ("NOT_KEPT", said)


async def test_what_is_not_there_comes_with_names_near_it(rig: FileRig) -> None:
    make_tree(rig.project, {"src/settings.py": "", "src/util.ts": "", "src/Readme.md": ""})
    said = [
        (await failure(rig, "read", path=f"src/{name}"))[1] for name in ("setings.py", "README.md", "util.js", "zzz")
    ]
    assert said == [
        "src/setings.py does not exist; near it are settings.py",
        "src/README.md does not exist; near it are Readme.md",
        "src/util.js does not exist; near it are util.ts",
        "src/zzz does not exist",
    ]
    assert await failure(rig, "read", path="no/such") == ("NOT_FOUND", "no/such does not exist, nor does its directory")


async def test_directories_and_ends_are_refused_with_advice(rig: FileRig) -> None:
    make_tree(rig.project, {"src/a": "x\n"})
    assert await failure(rig, "read", path="src") == (
        "IS_DIRECTORY",
        "src is a directory; use list to see what is in it",
    )
    assert await failure(rig, "read", path="src/a", offset=3) == (
        "OFFSET_BEYOND_END",
        "src/a has 1 lines, so there is no line 3",
    )


async def test_what_lies_outside_is_denied_by_the_marker(rig: FileRig) -> None:
    outside = rig.project.parent / "outside.txt"
    outside.write_text("secret")
    (rig.project / "link").symlink_to(outside)
    with pytest.raises(ToolError) as caught:
        await rig.run("read", path="link")
    assert caught.value.code == "DENIED"
    assert caught.value.message.startswith(f"[sandbox: read denied under workspace-write: {outside}]")
    assert isinstance(caught.value.__cause__, Denied)
    assert caught.value.__cause__.refusal == Refusal("read", str(outside), "outside")


async def test_a_large_file_is_read_only_as_far_as_needed(rig: FileRig) -> None:
    line = "z" * 99 + "\n"
    make_tree(rig.project, {"big.log": line * 60_000 + "last\r\nend"})
    assert await rig.text("read", path="big.log", limit=1) == (
        f"     1\t{'z' * 99}\n[lines 1 to 1 shown; read on with offset 2]"
    )
    assert await rig.text("read", path="big.log", offset=60_000) == f" 60000\t{'z' * 99}\n 60001\tlast\n 60002\tend"
    assert await failure(rig, "read", path="big.log", offset=60_003) == (
        "OFFSET_BEYOND_END",
        "big.log has 60,002 lines, so there is no line 60,003",
    )


async def test_a_large_file_of_one_line_is_cut(rig: FileRig) -> None:
    make_tree(rig.project, {"one": "é" * 3_000_000})
    text = await rig.text("read", path="one")
    assert text == f"     1\t{'é' * 2000}… [about 5,998,000 more bytes]"


async def test_a_large_file_in_an_uncommon_encoding_is_refused(rig: FileRig) -> None:
    make_tree(rig.project, {"u": b"\xff\xfe" + "x\n".encode("utf-16-le") * 2_000_000})
    code, message = await failure(rig, "read", path="u")
    assert (code, message.endswith("is too large (8,000,002 bytes) to be read in its encoding")) == ("TOO_LARGE", True)


async def test_a_cancelled_turn_ends_a_long_read(rig: FileRig) -> None:
    make_tree(rig.project, {"big": "z\n" * 5_000_000})
    rig.context.cancel.cancel(BY_USER)
    with pytest.raises(Cancelled):
        await rig.run("read", path="big", offset=4_000_000)


def test_the_call_can_be_judged_and_drawn_before_it_runs(rig: FileRig) -> None:
    tool = rig.tools["read"]
    arguments = ReadArguments(path="../x/./y.py", offset=7)
    assert tool.effect(arguments, "/w/p") == Effect("read", ("/w/x/y.py",))
    assert tool.card(arguments, "/w/p") == Card("Read /w/x/y.py (from line 7)", "read", (Location("/w/x/y.py", 7),))
    assert tool.parallel(arguments)
    long = tool.card(ReadArguments(path="/" + "d/" * 200 + "end.py"), "/w")
    assert (len(long.title), long.title[:6], long.title[-6:]) == (120, "Read …", "end.py")


@pytest.mark.parametrize(
    "arguments",
    [{}, {"path": ""}, {"path": "a\0b"}, {"path": "\ud800"}, {"path": "a", "ofset": 1}, {"path": "x" * 5000}],
)
async def test_arguments_are_checked(rig: FileRig, arguments: dict[str, object]) -> None:
    with pytest.raises(ToolError) as caught:
        await rig.call("read", json.dumps(arguments))
    assert caught.value.code == "INVALID_ARGS"


def test_every_field_of_every_tool_is_described(rig: FileRig) -> None:
    for tool in rig.tools.values():
        schema = tool.arguments.model_json_schema()
        shapes = [schema, *schema.get("$defs", {}).values()]
        assert all(shape["additionalProperties"] is False for shape in shapes)
        assert all(field.get("description") for shape in shapes for field in shape["properties"].values())
        assert tool.description
    assert sorted(rig.tools) == ["edit", "glob", "grep", "list", "multi_edit", "read", "write"]
