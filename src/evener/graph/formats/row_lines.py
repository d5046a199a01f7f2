"""The line number of a row of a text, for messages: readers keep no line numbers of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evener.graph.formats.text_stream import open_text

if TYPE_CHECKING:
    from evener.graph.formats.file import Source

__all__ = ["line_of_row"]


def line_of_row(
    source: Source, row: int, *, comments: bytes = b"", after: int = 0, turn: tuple[int, int] = (0, 1)
) -> int:
    """Return the line number of a row, from 1.

    Parameters
    ----------
    source : Source
    row : int
        The number of the row, from 0, among the lines that are not empty and no comments.
    comments : bytes
        The bytes that begin a comment.
    after : int
        Lines before the first row.
    turn : (int, int)
        As for `Text`: only the rows of this rank count.
    """
    import pyarrow.compute as pc

    with open_text(source, empty=True, turn=turn) as text:
        text.skip_lines(after)
        for chunk in text.chunks():
            for lines in chunk.arrow_lines():
                content = pc.ascii_trim_whitespace(lines)
                is_row = pc.not_equal(content, "")
                for mark in comments:
                    is_row = pc.and_not(is_row, pc.starts_with(content, chr(mark)))
                rows = np.flatnonzero(is_row.to_numpy(zero_copy_only=False))
                if row < len(rows):
                    return text.line + 1 + int(rows[row])
                row -= len(rows)
                text.line += len(lines)
        return text.line
