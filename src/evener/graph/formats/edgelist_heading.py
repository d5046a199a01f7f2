"""Headings of edge lists: graph properties in the comments before the first edge."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from evener.errors import FormatError, shorten
from evener.graph.formats.integer_weights import first_not_representable
from evener.system import memory
from evener.system.log import log

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from evener.graph.formats.text_stream import Text

__all__ = [
    "COMMENTS",
    "NAMES",
    "WEIGHT",
    "EdgeListHeading",
    "cast_weights",
    "read_comments",
    "warn_leading_zero",
    "warn_unread_weights",
]

COMMENTS = b"#%"
# The begin of the comments of `write` after lists of ids.
_OWN = b"# W"
# Bytes of comments between two checks of the memory, and bytes of memory per byte of listed ids.
_CHECK_BYTES, _LISTED_BYTES = 1 << 20, 32
# A number of vertices or edges, perhaps with commas between thousands.
_COUNT = r"(\d{1,18}|\d{1,3}(?:,\d{3})+)(?![\d,]*\d)"
_TYPES = [f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)] + ["float32", "float64"]


# Advice for ids that are no integers.
NAMES = "to read ids as names, begin the file with the line '# Ids: strings'"
# The begin of a third field that is a weight and no date or time.
WEIGHT = re.compile(rb"[-+]?(\d(?!\d*[-/:]\d)|\.\d|nan\b|inf)", re.IGNORECASE)


@dataclass
class EdgeListHeading:
    """Graph properties in the comments before the first edge."""

    directed: bool | None = None
    bipartite: bool = False
    vertices: int | None = None
    edges: int | None = None
    n: int | None = None
    weights: str | None = None
    strings: bool = False
    isolated: list[str] = field(default_factory=list)

    def parse_comment(self, line: str) -> None:
        """Read the properties in one comment."""
        if word := re.search(r"\b(un)?directed graph", line, re.IGNORECASE):
            self.directed = word[1] is None if self.directed is None else self.directed
        elif word := re.match(r"%\s*(sym|asym|bip)\b", line):
            self.directed = word[1] != "sym"
            self.bipartite = word[1] == "bip"
        if count := re.search(rf"\bNodes:\s*{_COUNT}", line):
            self.vertices = int(count[1].replace(",", ""))
        if count := re.search(rf"\bEdges:\s*{_COUNT}", line):
            self.edges = int(count[1].replace(",", ""))
        if span := re.fullmatch(r"# Ids: 0 to (\d{1,18})", line):
            self.n = int(span[1]) + 1
        if line == "# Ids: strings":
            self.strings = True
        if word := re.fullmatch(r"# Weights: (u?int\d\d?|float\d\d)", line):
            self.weights = word[1]
        if line.startswith("# Without edges: "):
            self.isolated += line.removeprefix("# Without edges: ").split()


def read_comments(text: Text) -> EdgeListHeading:
    """Return the properties in the comments, and skip them."""
    heading, checked = EdgeListHeading(), 0
    for line in text.ignored(COMMENTS, kept=_OWN):
        if line.lower().lstrip(b"% \t").startswith(b"matrixmarket"):
            msg = "expected an edge list, found a Matrix Market file; give format='mtx'"
            raise FormatError(msg, path=text.source.path, line=text.line)
        heading.parse_comment(line.decode("utf-8", "replace").strip())
        if heading.weights not in (None, *_TYPES):
            msg = f"expected a weight type of {', '.join(_TYPES)}, found {heading.weights} in the comment"
            raise FormatError(msg, path=text.source.path, line=text.line)
        checked += len(line)
        if checked > _CHECK_BYTES:
            checked = 0
            memory.require(_LISTED_BYTES * _CHECK_BYTES, f"the ids in the comments of {text.source.path}")
    return heading


def cast_weights(
    weights: Any, heading: EdgeListHeading, path: Path, line_of: Callable[[int], int] | None
) -> Any:
    """Return weights in the type of the comment, or raise `FormatError` if the type cannot hold them.

    `line_of` returns the line number of an edge, from its row.
    """
    if heading.weights is None:
        return weights
    if (wrong := first_not_representable(weights, heading.weights)) is not None:
        found = f"{weights[wrong]} for edge {wrong + 1}"
        msg = f"expected {heading.weights} weights by the comment, found {found}; correct one"
        raise FormatError(msg, path=path, line=None if line_of is None else line_of(wrong))
    return weights.astype(heading.weights)


def warn_leading_zero(path: str | Path | None, line: int | None = None) -> None:
    """Warn that an id with leading zeros makes all ids strings."""
    where = path if line is None else f"{path}, line {line}"
    msg = "%s: all ids are strings, because an id has leading zeros; remove the zeros to read integers"
    log.warning(msg, where)


def warn_unread_weights(path: Path, third: bytes) -> None:
    """Warn that the third field is not a number; NetworkX writes a dictionary there by default."""
    value = shorten(third.decode("utf-8", "replace"), 60)
    log.warning("%s: the graph has no weights: the third field is not a number, but %r", path, value)
