"""Checks, before the work, that the ranks of a command have the same arguments and read the same file."""

from __future__ import annotations

import zlib
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from evener.errors import MpiError
from evener.system.failure import in_words
from evener.system.world import current_world

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["check_agreement", "refuse_ranks"]

# Options that name the elements of a rank, so that ranks may differ.
_OF_A_RANK = ("--on", "--gpu-memory")
# Bytes at each end of a file that its fingerprint covers.
_END = 1 << 16


def check_agreement(words: Sequence[str], graph: str) -> None:
    """Check that all ranks have the same arguments and the same graph.

    This is a collective operation; all ranks must call it.

    Raises
    ------
    MpiError
        On all ranks, if ranks differ.
    """
    world = current_world()
    if world.size == 1:
        return
    of_ranks = world.allgather((shared_words(words), fingerprint(Path(graph))))
    _check("arguments", [f"evener {own}" for own, _ in of_ranks], "only --on and --gpu-memory may differ")
    _check(graph, [own for _, own in of_ranks], "give all machines the same file")


def _check(what: str, found: list[str], remedy: str) -> None:
    others = [rank for rank, own in enumerate(found) if own != found[0]]
    if others:
        same = [rank for rank in others if found[rank] == found[others[0]]]
        msg = (
            f"expected the same {what} on all ranks, found {found[0]} on rank 0 and {found[same[0]]} on "
            f"{in_words(same)}; {remedy}"
        )
        raise MpiError(msg)


def shared_words(words: Sequence[str]) -> str:
    """Return the arguments that all ranks must share."""
    kept = [
        word
        for before, word in pairwise(["", *words])
        if before not in _OF_A_RANK and word.partition("=")[0] not in _OF_A_RANK
    ]
    return " ".join(kept)


def fingerprint(path: Path) -> str:
    """Return the size of a file and a checksum of its ends; of a folder, those of all its files."""
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    total, checksum = 0, 0
    for file in files:
        if file.is_file():
            with file.open("rb") as stream:
                head = stream.read(_END)
                size = stream.seek(0, 2)
                stream.seek(max(0, size - _END))
                checksum = zlib.crc32(head + stream.read(), checksum)
            total += size
    return f"{total:,} bytes with checksum {checksum:08x}" if path.exists() else "no file"


def refuse_ranks(command: str) -> None:
    """Raise an error if this process is one of several ranks.

    Raises
    ------
    MpiError
        The sentence names the command.
    """
    if (size := current_world().size) > 1:
        msg = f"evener {command} works on one process, found {size} ranks; run it without an MPI launcher"
        raise MpiError(msg)
