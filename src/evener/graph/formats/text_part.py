"""Text files in parts: each rank parses the lines that begin in its own range of bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evener.errors import ArgumentError, EvenerError, FormatError
from evener.graph.formats import number_lines as lines
from evener.graph.formats.edges import Edges
from evener.graph.formats.file import Source
from evener.graph.formats.text_stream import MAX_LINE_BYTES, open_text
from evener.system.agreement import on_all_ranks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.system.world import World

__all__ = ["TextPart", "parse_part", "part_of", "refuse_compressed", "to_common_dtype"]

# Bytes per read in the search for the end of a line.
_BLOCK = 1 << 16


class TextPart(NamedTuple):
    """The edges in a rank's part of a text, and its lines.

    Attributes
    ----------
    edges : Edges
    first_line, line_count : int
        Number of the first line of the part, from 1, and of its lines.
    last_line : int
        Number of the last line of the file.
    cut : bool
        Whether the last line of the file has no newline.
    """

    edges: Edges
    first_line: int
    line_count: int
    last_line: int
    cut: bool


def refuse_compressed(source: Source) -> None:
    """Raise if a file is compressed: its lines are known only from its begin."""
    if source.compression is not None:
        msg = (
            f"{source.path}: {source.compression} data cannot be read in parts by several ranks; decompress "
            "the file, or convert it with evener convert to .evg or .parquet"
        )
        raise ArgumentError(msg)


def part_of(world: World, source: Source, *, offset: int = 0) -> Source:
    """Return the part of a text whose lines begin in this rank's range of the bytes from `offset` on.

    This is a collective operation; all ranks must call it.
    """
    size = source.size
    bounds = [offset + (size - offset) * rank // world.size for rank in range(world.size + 1)]
    start = on_all_ranks(world, lambda: _line_start(source, bounds[world.rank], offset, size))
    starts = [*world.allgather(start), size]
    return Source(source.path, None, starts[world.rank], starts[world.rank + 1])


def _line_start(source: Source, position: int, offset: int, size: int) -> int:
    """Return where the first line begins at or after a position."""
    if position <= offset:
        return offset
    with source.translate_errors(), source.path.open("rb") as file:
        file.seek(position - 1)
        while block := file.read(_BLOCK):
            if (found := block.find(b"\n")) >= 0:
                return file.tell() - len(block) + found + 1
            if file.tell() - position > MAX_LINE_BYTES:
                msg = f"expected lines of at most {MAX_LINE_BYTES:,} bytes, found a longer line"
                raise FormatError(msg, path=source.path)
    return size


def parse_part(
    world: World, source: Source, grammar: lines.Grammar, *, line: int = 0, offset: int = 0
) -> TextPart:
    """Parse this rank's part of a text, from byte `offset` on, which `line` lines precede.

    This is a collective operation; all ranks must call it.

    Raises
    ------
    FormatError
        On all ranks, the first error of the file, with the number of its line.
    """
    part = part_of(world, source, offset=offset)
    edges, count, cut = Edges(np.empty(0, np.uint32), np.empty(0, np.uint32)), 0, False
    if grammar.weighted:
        edges.weights = np.empty(0, np.int32)
    error: EvenerError | None = None
    try:
        if part.size:
            with open_text(part, empty=True) as text:
                edges = lines.parse(text, grammar)
                count, cut = text.line, text.cut
    except EvenerError as own:
        error = own
    outcomes = world.allgather((error, count, cut))
    before = [line + sum(own for _, own, _ in outcomes[:rank]) for rank in range(world.size + 1)]
    for first, (found, _, _) in zip(before, outcomes, strict=False):
        if isinstance(found, FormatError) and found.line is not None:
            raise FormatError(found.reason, path=found.path, line=first + found.line)
        if found is not None:
            raise found
    cut = any(own for *_, own in outcomes)
    return TextPart(edges, before[world.rank] + 1, count, before[-1], cut)


def to_common_dtype(world: World, weights: NDArray[Any] | None) -> NDArray[Any] | None:
    """Return the weights in the type that `parse` would choose for the weights of all ranks.

    This is a collective operation; all ranks must call it.
    """
    if weights is None:
        return None
    negative = len(weights) > 0 and weights.dtype.kind == "i" and int(weights.min()) < 0
    of_ranks = world.allgather((weights.dtype, negative))
    kinds = {dtype.kind for dtype, _ in of_ranks}
    if "f" in kinds or ("u" in kinds and any(below for _, below in of_ranks)):
        return weights.astype(np.float64, copy=False)
    if "u" in kinds:
        return weights.astype(np.uint64, copy=False)
    return weights.astype(max((dtype for dtype, _ in of_ranks), key=lambda own: own.itemsize), copy=False)
