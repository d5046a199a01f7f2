"""Checks, before the work, that the ranks of a command have the same arguments and read the same file."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from evener.errors import MpiError
from evener.system.agreement import agree, facts_of
from evener.system.fingerprint import Words, file_fingerprint
from evener.system.world import current_world

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["check_agreement", "refuse_ranks"]

# Options that name the elements of a rank, so that ranks may differ.
_OF_A_RANK = ("--on", "--gpu-memory")


def check_agreement(words: Sequence[str], graph: str) -> None:
    """Check that all ranks have the same arguments and the same graph.

    This is a collective operation; all ranks must call it.

    Raises
    ------
    MpiError
        On all ranks, if ranks differ.
    """
    world = current_world()
    if world.size > 1:
        line = Words(f"evener {shared_words(words)}")
        agree(
            world,
            "command line",
            lambda: facts_of("arguments", line),
            "only --on and --gpu-memory may differ",
        )
        found = facts_of(graph, file_fingerprint(graph))
        agree(world, "command line", lambda: found, "give all machines the same file")


def shared_words(words: Sequence[str]) -> str:
    """Return the arguments that all ranks must share."""
    kept = [
        word
        for before, word in pairwise(["", *words])
        if before not in _OF_A_RANK and word.partition("=")[0] not in _OF_A_RANK
    ]
    return " ".join(kept)


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
