from __future__ import annotations

from typing import Any

import pytest

from acp_server.acp.content import MOST_IMAGES, NewImage, blocks_of, path_of
from acp_server.jsonrpc.errors import INVALID_PARAMS, RpcError
from acp_server.messages.blocks import TextBlock
from tests.support.pictures import image, png


@pytest.mark.parametrize(
    ("block", "text"),
    [
        ({"type": "text", "text": "hi"}, "hi"),
        ({"type": "resource_link", "uri": "file:///p/a%20b.py", "name": "a b.py"}, "[a b.py](/p/a b.py)"),
        ({"type": "resource_link", "uri": "src/x.py", "name": "src/x.py"}, "[src/x.py](src/x.py)"),
        ({"type": "resource_link", "uri": "zed:///agent/1", "name": "thread"}, "[thread](zed:///agent/1)"),
        (
            {"type": "resource", "resource": {"uri": "file:///p/a.py#L3-7", "text": "x = 1"}},
            '<resource uri="/p/a.py#L3-7">\nx = 1\n</resource>',
        ),
        (
            {"type": "resource", "resource": {"uri": "u://x", "blob": "AAAA", "mimeType": "image/png"}},
            '<resource uri="u://x">\n(binary content, image/png, 3 bytes, not shown)\n</resource>',
        ),
    ],
)
def test_blocks(block: dict[str, Any], text: str) -> None:
    assert blocks_of([block]) == (TextBlock(text),)


@pytest.mark.parametrize(
    ("more", "name"),
    [
        ({}, None),
        ({"uri": "file:///p/a%20b.png#x"}, "a b.png"),
        ({"uri": "C:\\x\\y.png"}, "y.png"),
        ({"uri": "https://example.org/z.png?size=1"}, "z.png"),
        ({"mimeType": "image/x-png"}, None),
        ({"mimeType": "IMAGE/PNG; q=1"}, None),
    ],
)
def test_an_image_is_taken_by_what_its_bytes_are(more: dict[str, str], name: str | None) -> None:
    assert blocks_of([image(png(4, 5)) | more]) == (NewImage(png(4, 5), "image/png", 4, 5, name),)


def test_the_order_of_words_and_images_stays_and_there_is_a_most() -> None:
    words, shown = {"type": "text", "text": "a"}, image(png())
    assert [type(block) for block in blocks_of([shown, words, shown])] == [NewImage, TextBlock, NewImage]
    assert len(blocks_of([shown] * MOST_IMAGES)) == MOST_IMAGES
    with pytest.raises(RpcError, match="more than 20 images"):
        blocks_of([shown] * (MOST_IMAGES + 1))


def test_a_model_without_eyes_is_named() -> None:
    with pytest.raises(RpcError, match=r"prompt\[0\]\.type is 'image', and p/m reads no images"):
        blocks_of([image(png())], "p/m")
    file = {"uri": "/p/a.png", "blob": image(png())["data"], "mimeType": "image/png"}
    (block,) = blocks_of([{"type": "resource", "resource": file}], "p/m")
    assert isinstance(block, TextBlock), "a file that an editor adds is told in words"


def test_empty_texts_are_left_out_and_order_stays() -> None:
    prompt = [{"type": "text", "text": " \n"}, {"type": "text", "text": "b"}, {"type": "text", "text": "a"}]
    assert blocks_of(prompt) == (TextBlock("b"), TextBlock("a"))


@pytest.mark.parametrize(
    ("block", "words"),
    [
        ({"type": "image", "data": "AA", "mimeType": "image/png"}, "prompt[0].data is no base64"),
        (image(png()) | {"mimeType": "image/webp"}, "prompt[0].mimeType is 'image/webp', but the data are image/png"),
        ({"type": "image", "data": "AAAA", "mimeType": "image/png"}, "prompt[0].data is none of image/png, image/jpeg"),
        ({"type": "audio"}, "takes no sound"),
        ({"type": "hologram"}, "no known kind"),
        ({"type": "text"}, "prompt[0].text must be a string"),
        ({"type": "resource_link", "name": "x"}, "prompt[0].uri must be a string"),
        ({"type": "resource", "resource": []}, "prompt[0].resource must be an object"),
        ({"type": "resource", "resource": {"uri": "x"}}, "must have a text or a blob"),
    ],
)
def test_what_is_not_taken_is_named(block: dict[str, Any], words: str) -> None:
    with pytest.raises(RpcError) as refused:
        blocks_of([block])
    assert refused.value.rpc_code == INVALID_PARAMS
    assert words in refused.value.message


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///a/b.txt", "/a/b.txt"),
        ("file:///a/%E6%97%A5.txt", "/a/日.txt"),
        ("/bare/path", "/bare/path"),
        ("C:\\x\\y.py", "C:\\x\\y.py"),
        ("https://example.org/x", None),
        ("file://", None),
        ("http://[bad", None),
    ],
)
def test_paths_of_uris(uri: str, path: str | None) -> None:
    assert path_of(uri) == path
