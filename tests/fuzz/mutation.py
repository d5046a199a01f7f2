"""Mutations of files: bytes, numbers, lines, and words of the formats."""

from __future__ import annotations

import bz2
import gzip
import struct
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

__all__ = ["COMPRESS", "mutated"]

# Words that formats give a meaning, and numbers at the limits of types.
_TEXT = """
0 1 -1 00 1.0 1. .5 +1 1e3 1e400 -1e400 nan inf 0x10 1_000 2147483647 2147483648 -2147483649 4294967295
4294967296 9007199254740993 9223372036854775807 9223372036854775808 18446744073709551615
18446744073709551616 99999999999999999999999 # % %% // c p a sp max e src dst source target weight id
Ids: strings integers vertices edges Nodes: Edges: Directed undirected matrix coordinate array real
integer unsigned-integer pattern complex general symmetric skew-symmetric hermitian graph.g.directed
graph.g.meta.vertices = true false none null {} [] : , ; | ' " "" \\ ann é 日本 \ufeff
"""
_BLANKS = (
    b"\n",
    b"\r\n",
    b"\r",
    b"\t",
    b" ",
    b"  ",
    b"\0",
    b"\x1a",
    b"\x1b[31m",
    b"\xff",
    b"\xc3",
    b",,",
    b"\n\n",
)
_WORDS = [*(word.encode() for word in _TEXT.split()), *_BLANKS, b'"\n"', "\u2028".encode()]

_LIMITS = (0, 1, 2, 127, 255, 1 << 15, 1 << 16, 1 << 31, 1 << 32, 1 << 40, 1 << 63)

_LONGEST = 4096  # bytes of a repetition


def _zstd(content: bytes) -> bytes:
    return bytes(pa.compress(content, codec="zstd", asbytes=True))


# Compressors by suffix.
COMPRESS: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".bz2": bz2.compress, ".zst": _zstd}


def mutated(content: bytes, other: bytes, rng: random.Random) -> bytes:
    """Return the content after one to six mutations. `other` is a file to take pieces from."""
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        content = rng.choice(_MUTATIONS)(content, other, rng)
    return content


def _span(content: bytes, rng: random.Random) -> tuple[int, int]:
    begin = rng.randrange(len(content) + 1)
    return begin, min(len(content), begin + rng.choice((1, 1, 2, 4, 8, 30)))


def _replace(content: bytes, rng: random.Random, piece: bytes) -> bytes:
    begin, end = _span(content, rng)
    return content[:begin] + piece + content[rng.choice((begin, end)) :]


def _byte(content: bytes, _other: bytes, rng: random.Random) -> bytes:
    return _replace(content, rng, bytes([rng.randrange(256)]))


def _flip(content: bytes, _other: bytes, rng: random.Random) -> bytes:
    if not content:
        return content
    at = rng.randrange(len(content))
    return content[:at] + bytes([content[at] ^ 1 << rng.randrange(8)]) + content[at + 1 :]


def _word(content: bytes, _other: bytes, rng: random.Random) -> bytes:
    return _replace(content, rng, rng.choice(_WORDS))


def _field(content: bytes, _other: bytes, rng: random.Random) -> bytes:
    """Replace a field between blanks or commas by a word."""
    line = content.split(b"\n")
    at = rng.randrange(len(line))
    separator = rng.choice((b" ", b",", b"\t", b"="))
    fields = line[at].split(separator)
    fields[rng.randrange(len(fields))] = rng.choice(_WORDS)
    line[at] = separator.join(fields)
    return b"\n".join(line)


def _number(content: bytes, _other: bytes, rng: random.Random) -> bytes:
    """Write a number at the limit of a type over 1 to 8 bytes."""
    size = rng.choice((1, 2, 4, 8))
    value = (rng.choice(_LIMITS) + rng.choice((0, 0, 0, 1, -1))) % (1 << 8 * size)
    piece = value.to_bytes(size, "little")
    if rng.random() < 0.1:
        piece = struct.pack("<d", rng.choice((0.0, -1.0, float("nan"), float("inf"), 1e300)))
    at = rng.randrange(len(content) + 1)
    at -= at % size if rng.random() < 0.5 else 0
    return content[:at] + piece + content[at + len(piece) :]


def _delete(content: bytes, _other: bytes, rng: random.Random) -> bytes:
    begin, end = _span(content, rng)
    return content[:begin] + content[end:]


def _cut(content: bytes, _other: bytes, rng: random.Random) -> bytes:
    return content[: rng.randrange(len(content) + 1)]


def _repeat(content: bytes, _other: bytes, rng: random.Random) -> bytes:
    begin, end = _span(content, rng)
    times = rng.choice((1, 1, 2, 10, 1000))
    return content[:end] + (content[begin:end] * times)[:_LONGEST] + content[end:]


def _splice(content: bytes, other: bytes, rng: random.Random) -> bytes:
    begin, end = _span(other, rng)
    return _replace(content, rng, other[begin : rng.choice((end, len(other)))])


def _lines(content: bytes, _other: bytes, rng: random.Random) -> bytes:
    """Exchange, repeat or drop a line."""
    lines = content.split(b"\n")
    a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
    change = rng.randrange(3)
    if change == 0:
        lines[a], lines[b] = lines[b], lines[a]
    elif change == 1:
        lines.insert(a, lines[b])
    else:
        del lines[a]
    return b"\n".join(lines)


_MUTATIONS = (_byte, _flip, _word, _word, _field, _field, _number, _delete, _cut, _repeat, _splice, _lines)
