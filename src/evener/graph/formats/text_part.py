"""Text files in parts: each rank parses the lines that begin in its own range of bytes."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from evener.errors import ArgumentError, EvenerError, FormatError
from evener.graph.formats import number_lines as lines
from evener.graph.formats.file import Source, require_part
from evener.graph.formats.text_stream import MAX_LINE_BYTES, is_utf8, open_text
from evener.graph.share import EdgeIds
from evener.system.agreement import on_all_ranks

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from evener.system.world import World

    T = TypeVar("T")

__all__ = [
    "TextPart",
    "parse_in_parts",
    "parse_part",
    "part_of",
    "read_part",
    "refuse_compressed",
    "to_common_dtype",
]

# Bytes per read in the search for the end of a line.
_BLOCK = 1 << 16


class TextPart(NamedTuple):
    """The edges in a rank's part of a text, the lines of the file, and whether the last lacks its newline."""

    edges: EdgeIds
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
    if world.size == 1:
        return replace(source, start=offset)
    size = world.allgather(on_all_ranks(world, lambda: _size(source)))[0]  # the file may grow meanwhile
    bounds = [offset + (size - offset) * rank // world.size for rank in range(world.size + 1)]
    start = on_all_ranks(world, lambda: _line_start(source, bounds[world.rank], offset, size))
    starts = [*world.allgather(start), size]
    return Source(source.path, None, starts[world.rank], starts[world.rank + 1])


def _size(source: Source) -> int:
    with source.translate_errors():
        return source.size


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

    This is a collective operation; all ranks must call it. The part is a range of bytes. Each rank
    decompresses all chunks of a compressed file, and parses the chunks of its turns. On all ranks, the first
    error of the file is raised, with the number of its line.
    """
    if source.compression is not None:
        return _parse_turns(world, source, grammar, line)
    part = part_of(world, source, offset=offset)

    def parse() -> tuple[tuple[EdgeIds, int, bool], int]:
        if not part.size:
            return (EdgeIds.empty(part.path, np.int32 if grammar.weighted else None), 0, False), 0
        with open_text(part, empty=True) as text:
            edges = lines.parse(text, grammar)
            return (edges, text.line, text.cut), text.line

    edges, count, cut = parse_in_parts(world, parse, line=line)
    counts = [line, *world.allgather(count)]
    before = int(sum(counts[: world.rank + 1]))
    if (line_of := edges.line_of) is not None:
        edges.line_of = lambda row: before + line_of(row)
    return TextPart(edges, sum(counts), any(world.allgather(cut)))


def _parse_turns(world: World, source: Source, grammar: lines.Grammar, line: int) -> TextPart:
    """Parse this rank's chunks of compressed data, after `line` lines."""
    error: EvenerError | None = None
    try:
        with open_text(source, turn=(world.rank, world.size)) as text:
            text.skip_lines(line)
            found = TextPart(lines.parse(text, grammar), text.line, text.cut)
    except EvenerError as own:
        error = own
    errors = [own for own in world.allgather(error) if own is not None]
    if errors:
        raise min(errors, key=lambda own: getattr(own, "line", None) or math.inf)
    return found


def read_part(
    world: World, source: Source, *, line: int, offset: int
) -> tuple[Any, NDArray[np.intp], int, bool]:
    """Return the rows in this rank's part of a text, and their line numbers; see `parse_part`.

    The rows are Arrow strings, without comments and empty lines. The third value is the number of lines of
    the file, and the last one says whether this rank's last line has no newline.
    """
    if source.compression is not None:  # one process reads all lines
        part, line = source, 0
    else:
        part = part_of(world, source, offset=offset)
    rows, numbers, count, cut = parse_in_parts(world, lambda: _read_rows(part), line=line)
    counts = world.allgather(count)
    return rows, numbers + (line + sum(counts[: world.rank])), line + sum(counts), cut


def _read_rows(source: Source) -> tuple[tuple[Any, NDArray[np.intp], int, bool], int]:
    """Return the rows, their line numbers, the number of lines, and whether the last line has no newline.

    The number of lines comes twice, for `parse_in_parts`.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    kept, numbers = [], [np.empty(0, np.intp)]
    with open_text(source, empty=True) as text:
        for chunk in text.chunks():
            require_part(chunk.stop - chunk.start, source.path)
            for part in chunk.arrow_lines():
                try:
                    part.validate(full=True)
                except pa.ArrowInvalid as error:
                    valid = map(is_utf8, part.cast(pa.binary()).to_pylist())
                    line = text.line + 1 + list(valid).index(False)
                    msg = "expected lines of UTF-8 text; convert the file to UTF-8"
                    raise FormatError(msg, path=source.path, line=line) from error
                trimmed = pc.ascii_trim_whitespace(part)  # another blank at an end is a part of a name
                ignored = pc.or_(pc.starts_with(trimmed, "#"), pc.starts_with(trimmed, "%"))
                is_row = pc.invert(pc.or_(pc.equal(trimmed, ""), ignored))
                kept.append(pc.ascii_trim(part.filter(is_row), " \r\n"))  # a tab may separate empty fields
                numbers.append(text.line + 1 + np.flatnonzero(is_row.to_numpy(zero_copy_only=False)))
                text.line += len(part)
        rows = pa.chunked_array(kept, pa.string())
        return (rows, np.concatenate(numbers), text.line, text.cut), text.line


def parse_in_parts(world: World, parse: Callable[[], tuple[T, int]], *, line: int = 0) -> T:
    """Return what this rank parses of a file, which begins with `line` lines that no rank parses.

    This is a collective operation; all ranks must call it. `parse` returns what it parses and the number of
    lines. Its errors count lines from the begin of the part. On all ranks, the first error in the order of
    the file is raised, with the number of its line.
    """
    error: EvenerError | None = None
    count = 0
    try:
        value, count = parse()
    except EvenerError as own:
        error = own
    for found, lines_of_rank in world.allgather((error, count)):
        if isinstance(found, FormatError) and found.line is not None:
            raise type(found)(found.reason, path=found.path, line=line + found.line)
        if found is not None:
            raise found
        line += lines_of_rank
    return value


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
