"""Laws of assembling: what the split of a stream cannot change."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from acp_server.messages.assembler import BlockAssembler
from acp_server.messages.blocks import Block, ReasoningBlock, TextBlock, ToolCallBlock
from acp_server.messages.chunks import BlockEnd, ReasoningDelta, StreamChunk, TextDelta, ToolCallDelta

texts = st.text(max_size=12)
blocks = st.one_of(
    st.builds(TextBlock, texts),
    st.builds(ReasoningBlock, texts),
    st.builds(ToolCallBlock, st.sampled_from(["", "a", "b", "a-2"]), st.sampled_from(["read", "edit"]), texts),
)


def pieces(draw: st.DrawFn, text: str) -> list[str]:
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=4)))
    return [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def deltas(draw: st.DrawFn, index: int, block: Block) -> list[StreamChunk]:
    match block:
        case TextBlock():
            return [TextDelta(index, piece) for piece in pieces(draw, block.text)]
        case ReasoningBlock():
            return [ReasoningDelta(index, piece) for piece in pieces(draw, block.text)]
        case ToolCallBlock():
            return [ToolCallDelta(index, block.id, piece, block.name) for piece in pieces(draw, block.arguments)]
        case _:
            raise AssertionError(block)


def assemble(chunks: list[StreamChunk]) -> tuple[Block, ...]:
    assembler = BlockAssembler()
    for chunk in chunks:
        assembler.push(chunk)
    return assembler.blocks()


@st.composite
def streams(draw: st.DrawFn) -> tuple[list[Block], list[StreamChunk]]:
    """Return blocks and one interleaving of their deltas; the first delta of each comes in order."""
    content: list[Block] = list(draw(st.lists(blocks, max_size=5)))
    tracks = [deltas(draw, index, block) for index, block in enumerate(content)]
    chunks = [track[0] for track in tracks]
    rest = [track[1:] for track in tracks if len(track) > 1]
    while rest:
        track = draw(st.sampled_from(rest))
        chunks.append(track.pop(0))
        rest = [left for left in rest if left]
    return content, chunks


@given(streams())
def test_the_split_of_a_stream_does_not_matter(stream: tuple[list[Block], list[StreamChunk]]) -> None:
    content, chunks = stream
    whole = assemble([BlockEnd(index, block) for index, block in enumerate(content)])
    assert assemble(chunks) == whole


@given(streams(), st.data())
def test_a_block_s_end_is_authoritative(stream: tuple[list[Block], list[StreamChunk]], data: st.DataObject) -> None:
    content, chunks = stream
    ends = [BlockEnd(index, TextBlock(f"end {index}")) for index in range(len(content))]
    late = data.draw(st.lists(st.sampled_from(chunks), max_size=3)) if chunks else []
    assert assemble([*chunks, *ends, *late]) == tuple(end.block for end in ends)


@given(streams())
def test_ids_of_calls_are_distinct_and_none_is_empty(stream: tuple[list[Block], list[StreamChunk]]) -> None:
    ids = [block.id for block in assemble(stream[1]) if isinstance(block, ToolCallBlock)]
    assert len(set(ids)) == len(ids)
    assert all(ids)
