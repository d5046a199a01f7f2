"""Manifest: the content of a checkpoint, as JSON text with a checksum, and the checks of a text."""

from __future__ import annotations

import json
import math
import re
import zlib
from typing import TYPE_CHECKING, Any, NamedTuple

from evener.errors import FormatError
from evener.system.manifest import parse_manifest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["GENERATION", "Manifest", "Shard"]

_FORMAT, _VERSION = "evener checkpoint", 1
# The number of a generation in the name of a file: eight digits, or more without a leading zero.
GENERATION = r"(?:[0-9]{8}|[1-9][0-9]{8,})"
_DTYPE = re.compile(r"<[iu][248]|<f[248]|\|[biu]1")


class Shard(NamedTuple):
    """The files of one rank: their names and checksums, and the number of vertices."""

    state: str
    state_checksum: int
    vertices: str
    vertices_checksum: int
    owned: int


class Manifest(NamedTuple):
    """The content of a manifest: what `_FIELDS` says in words.

    `run` is the fingerprint of the run, which had done `step` steps in `seconds`. `arrays` has the name and
    the dtype of each array, in the order of a shard.
    """

    run: dict[str, Any]
    step: int
    seconds: float
    scalars: list[Any]
    arrays: list[list[str]]
    shards: list[Shard]

    def encode(self) -> bytes:
        """Return the text of the manifest, with its checksum as the last line."""
        fields = {"format": _FORMAT, "version": _VERSION, **self._asdict()}
        text = json.dumps(fields, default=lambda number: number.item()).encode()
        return text + _end_of(text)

    @classmethod
    def decode(cls, content: bytes, path: Path) -> Manifest:
        """Return the manifest of a text.

        Raise FormatError if the text is damaged, has another version, or a field breaks its rule.
        """
        text, end = content[:-9], content[-9:]
        if end != _end_of(text):
            raise FormatError("the manifest is damaged: its checksum does not match", path=path)
        fields = parse_manifest(text, path)
        if fields.pop("format", None) != _FORMAT or fields.pop("version", None) is not _VERSION:
            raise FormatError(f"expected version {_VERSION} of the format, found another", path=path)
        if unknown := fields.keys() - _FIELDS.keys():
            raise FormatError(f"expected no field {min(unknown)!r} in the manifest", path=path)
        for name, (is_valid, expected) in _FIELDS.items():
            if name not in fields or not is_valid(fields[name]):
                found = "another value" if name in fields else "no such field"
                raise FormatError(
                    f"expected {expected} in {name!r} of the manifest, found {found}", path=path
                )
        manifest = cls(**fields)
        return manifest._replace(shards=[Shard(*shard) for shard in manifest.shards])


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 63


def _is_duration(value: Any) -> bool:
    return _is_count(value) or (isinstance(value, float) and 0 <= value < math.inf)


def _is_scalar(value: Any) -> bool:
    if isinstance(value, list):
        return all(map(_is_scalar, value))
    return isinstance(value, bool | float) or (type(value) is int and -(1 << 63) <= value < 1 << 64)


def _are_arrays(value: Any) -> bool:
    pairs = isinstance(value, list) and all(
        isinstance(one, list) and [type(part) for part in one] == [str, str] for one in value
    )
    return pairs and len(dict(value)) == len(value) and all(_DTYPE.fullmatch(dtype) for _, dtype in value)


def _are_shards(value: Any) -> bool:
    return (
        isinstance(value, list)
        and all(map(_is_shard, value))
        and len({one[0] for one in value}) == len(value)
    )


def _is_shard(value: Any) -> bool:
    if not isinstance(value, list) or len(value) != len(Shard._fields):
        return False
    state, vertices = value[0], value[2]
    return (
        _is_file(state, "state")
        and _is_file(vertices, "vertices")
        and all(map(_is_count, (value[1], value[3], value[4])))
    )


def _is_file(value: Any, kind: str) -> bool:
    return isinstance(value, str) and re.fullmatch(rf"{GENERATION}\.[0-9]{{5,}}\.{kind}", value) is not None


# The rule of each field, in words too.
_FIELDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "run": (lambda value: isinstance(value, dict), "the facts of the run"),
    "step": (_is_count, "a number of steps"),
    "seconds": (_is_duration, "a number of seconds"),
    "scalars": (lambda value: isinstance(value, list) and _is_scalar(value), "a list of numbers"),
    "arrays": (_are_arrays, "a name and a dtype for each array"),
    "shards": (_are_shards, "two files, their checksums and a number of vertices for each rank"),
}


def _end_of(text: bytes) -> bytes:
    """Return the last line of a manifest: the CRC-32 of the text before it."""
    return f"\n{zlib.crc32(text):08x}".encode()
