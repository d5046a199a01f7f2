"""METIS graphs (`.graph`, `.metis`), undirected: line i lists the neighbours of vertex i, ids from 1.

The heading is ``n m [fmt [ncon]]``. The digits of `fmt` state vertex sizes, vertex weights (`ncon` per
vertex) and edge weights. The reader skips sizes and weights of vertices, and reads edge weights.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import ArgumentError, FormatError
from evener.graph.formats.edges import blocks, narrow_integers
from evener.graph.formats.file import open_compressed, require_part
from evener.graph.formats.heading import TEXT_WEIGHT_BYTES, Heading
from evener.graph.formats.registry import Format
from evener.graph.formats.rows import graph_from_rows
from evener.graph.formats.text_stream import HEADING_BYTES, open_text
from evener.system import memory
from evener.system.files import atomic_write

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from evener.graph.formats.file import Source
    from evener.graph.formats.read_options import ReadOptions
    from evener.graph.formats.text_stream import Text
    from evener.graph.graph import Graph

__all__ = ["FORMAT"]


def read(source: Source, options: ReadOptions, /) -> Graph:
    """Return the graph of a METIS file."""
    path = source.path
    degrees, targets, weights = [], [], []
    with open_text(source) as text:
        n, m, before, weighted, heading = _heading(text)
        memory.require(8 * (n + 1) + (16 if weighted else 8) * m, f"the graph {path}")
        count = 0
        for chunk in text.chunks():
            require_part(chunk.stop - chunk.start, path)
            for part in chunk.arrow_lines():
                rows = _rows(part, text, before=before, weighted=weighted, n=n, left=n - count)
                count += len(rows[0])
                degrees.append(rows[0])
                targets.append(rows[1])
                weights.append(rows[2])
    kept = sum(map(len, degrees)), sum(map(len, targets))
    memory.require(24 * kept[0] + (24 if weighted else 8) * kept[1], f"the graph {path}")
    degree = np.concatenate([*degrees, np.empty(0, np.int64)])
    if len(degree) != n:
        msg = f"expected {n} lines of vertices by the heading, found {len(degree)}; download the file again"
        raise FormatError(msg, path=path, line=heading)
    offsets = np.concatenate([[0], np.cumsum(degree)]).astype(np.uint64)
    heads = np.concatenate([*targets, np.empty(0, np.uint32)])
    loops = int(np.count_nonzero(heads == np.repeat(np.arange(n, dtype=np.uint32), degree)))
    if len(heads) != 2 * m and len(heads) + loops != 2 * m:
        msg = f"expected {2 * m} neighbours for {m} edges by the heading, found {len(heads)}"
        raise FormatError(msg, path=path, line=heading)
    values = narrow_integers(np.concatenate([*weights, np.empty(0, np.int64)])) if weighted else None
    try:
        return graph_from_rows(offsets, heads, values, directed=False, options=options, path=path)
    except FormatError:
        if options.directed is not True:
            _refuse_asymmetry(offsets, heads, values, path)
        raise


def _refuse_asymmetry(
    offsets: NDArray[np.uint64], heads: NDArray[np.uint32], values: NDArray[Any] | None, path: Path
) -> None:
    """Raise `FormatError` for the first edge that the line of its head does not list with its weight."""
    tails = np.repeat(np.arange(len(offsets) - 1, dtype=np.uint32), np.diff(offsets).astype(np.intp))
    weights = np.zeros(len(heads), np.int8) if values is None else values
    there, back = np.lexsort((weights, heads, tails)), np.lexsort((weights, tails, heads))
    unequal = (
        (tails[there] != heads[back]) | (heads[there] != tails[back]) | (weights[there] != weights[back])
    )
    if not unequal.any():
        return
    place = int(unequal.argmax())
    forward = tuple(int(one[there[place]]) for one in (tails, heads, weights))
    backward = tuple(int(one[back[place]]) for one in (heads, tails, weights))
    tail, head = forward[:2] if forward < backward else backward[1::-1]
    same = "" if values is None else " with the same weight"
    expected = f"vertex {tail + 1} among the neighbours of {head + 1}{same}, as {tail + 1} lists {head + 1}"
    msg = f"expected every edge in both directions, and {expected}; give --directed"
    raise FormatError(msg, path=path)


def read_heading(source: Source, /) -> Heading:
    """Return the sizes in the first line. A self-loop may count twice there."""
    with open_text(source, most=HEADING_BYTES) as text:
        n, m, _, weighted, _ = _heading(text)
    return Heading(n, 2 * m, directed=False, weight_bytes=weighted * TEXT_WEIGHT_BYTES, exact=False)


def _heading(text: Text) -> tuple[int, int, int, bool, int]:
    """Return (vertices, edges, numbers before the neighbours, true for edge weights, line number)."""
    for _ in text.ignored(b"%"):
        pass
    line = text.peek()
    words = (line or b"").split()
    valid = 2 <= len(words) <= 4 and all(re.fullmatch(rb"\d{1,18}", w) for w in words)
    if not valid or (len(words) > 2 and not re.fullmatch(rb"[01]{1,3}", words[2])):
        found = "the end of the file" if line is None else repr(line[:60].decode("utf-8", "replace"))
        msg = f"expected the heading 'VERTICES EDGES [FMT [NCON]]', found {found}"
        raise FormatError(msg, path=text.source.path, line=text.line + 1)
    fmt = (words[2] if len(words) > 2 else b"0").decode().rjust(3, "0")
    count = int(words[3]) if len(words) > 3 else 1
    before = int(fmt[0]) + count * int(fmt[1])
    text.skip()
    return int(words[0]), int(words[1]), before, fmt[2] == "1", text.line


def _rows(
    lines: Any, text: Text, *, before: int, weighted: bool, n: int, left: int
) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.int64]]:
    """Return degrees, heads and weights of the rows in some lines, given as Arrow strings.

    At most `left` rows have numbers; more empty lines may follow.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    path = text.source.path
    is_row = ~pc.starts_with(pc.ascii_ltrim_whitespace(lines), "%").to_numpy(zero_copy_only=False)
    number = text.line + 1 + np.flatnonzero(is_row)
    text.line += len(lines)
    rows = pc.ascii_trim_whitespace(lines.filter(pa.array(is_row)))
    beyond = np.flatnonzero(pc.not_equal(rows.slice(left), "").to_numpy(zero_copy_only=False))
    if len(beyond):
        msg = f"expected {n} lines of vertices by the heading, found {n + 1}"
        raise FormatError(msg, path=path, line=int(number[left + beyond[0]]))
    rows, number = rows.slice(0, left), number[:left]
    fields = pc.ascii_split_whitespace(rows)
    counts = pc.list_value_length(fields).to_numpy().astype(np.int64)
    counts[pc.equal(rows, "").to_numpy(zero_copy_only=False)] = 0
    words = fields.flatten()
    words = words.filter(pc.not_equal(words, ""))
    try:
        numbers = words.cast(pa.int64()).to_numpy()
    except pa.ArrowInvalid:
        wrong = int(
            (~pc.match_substring_regex(words, r"^-?\d{1,18}$").to_numpy(zero_copy_only=False)).argmax()
        )
        line = int(number[np.searchsorted(np.cumsum(counts), wrong, side="right")])
        found = words[wrong].as_buffer().to_pybytes()[:60].decode("utf-8", "replace")
        msg = f"expected integers as neighbours, found {found!r}"
        raise FormatError(msg, path=path, line=line) from None
    step = 2 if weighted else 1
    degrees = (counts - before) // step
    ragged = np.flatnonzero((counts < before) | ((counts - before) % step != 0))
    if len(ragged):
        rest = "pairs of neighbour and weight" if weighted else "neighbours"
        msg = f"expected {before} numbers and then {rest}, found {counts[ragged[0]]} numbers"
        raise FormatError(msg, path=path, line=int(number[ragged[0]]))
    starts = np.cumsum(counts) - counts
    place = np.arange(len(numbers)) - np.repeat(starts, counts) - before
    heads = numbers[(place >= 0) & (place % step == 0)]
    invalid = np.flatnonzero((heads < 1) | (heads > n))
    if len(invalid):
        line = int(number[np.searchsorted(np.cumsum(degrees), invalid[0], side="right")])
        msg = f"expected neighbours from 1 to {n}, found {heads[invalid[0]]}"
        raise FormatError(msg, path=path, line=line)
    values = numbers[(place >= 0) & (place % step == 1)] if weighted else np.empty(0, np.int64)
    return degrees, (heads - 1).astype(np.uint32), values


def write(graph: Graph, target: Path, compression: str | None, /) -> None:
    """Write an undirected METIS graph without self-loops, with positive integer weights."""
    if graph.directed:
        raise ArgumentError(
            f"{target}: METIS needs an undirected graph, but the graph is directed; write .mtx or .evg"
        )
    weights = graph.weights
    if weights is not None and (weights.dtype.kind == "f" or (len(weights) and weights.min() <= 0)):
        raise ArgumentError(f"{target}: METIS needs positive integer weights; write .mtx or .evg")
    with atomic_write(target) as temporary, open_compressed(temporary, compression) as sink:
        sink.write(f"{graph.n} {graph.m // 2}{'' if weights is None else ' 001'}\n".encode())
        for first, last in blocks(graph):
            sink.write(_lines(graph, first, last, target))


def _lines(graph: Graph, first: int, last: int, target: Path) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    begin, end = int(graph.offsets[first]), int(graph.offsets[last])
    offsets = (graph.offsets[first : last + 1] - graph.offsets[first]).astype(np.int32)
    heads = graph.targets[begin:end].astype(np.int64)
    loops = np.flatnonzero(heads == np.repeat(np.arange(first, last), np.diff(offsets)))
    if len(loops):
        msg = f"{target}: METIS allows no self-loops, but vertex {heads[loops[0]]} has one; drop them"
        raise ArgumentError(msg)
    words = pa.array(heads + 1).cast(pa.string())
    if graph.weights is not None:
        words = pc.binary_join_element_wise(words, pa.array(graph.weights[begin:end]).cast(pa.string()), " ")
    rows = pc.binary_join(pa.ListArray.from_arrays(offsets, words), " ")
    whole = pa.ListArray.from_arrays([0, len(rows)], rows)
    return pc.binary_join(whole, "\n")[0].as_buffer().to_pybytes() + b"\n"


FORMAT = Format(
    "METIS", (".graph", ".metis"), read, write, stores_ids=False, first_id=1, read_heading=read_heading
)
