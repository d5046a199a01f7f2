"""Local moving: vertices move to the label with the best score, until few vertices move.

It is the first phase of a level of Louvain and Leiden, and without a penalty for large labels it is label
propagation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from evener.engine.array import PartitionedArray
    from evener.primitives.label_sums import LabelSums

__all__ = ["Rounds", "move_until_settled"]

# Distance between the salts of different seeds, and of different levels of a seed.
_OF_SEED, _OF_LEVEL = 0x9E3779B97F4A7C15, 1 << 20


class Rounds(NamedTuple):
    """How a local moving ended.

    Attributes
    ----------
    rounds : int
        Rounds over all active vertices.
    moves : int
        How many times a vertex changed its label.
    settled : bool
        Whether no vertex moved in the last round.
    """

    rounds: int
    moves: int
    settled: bool


def move_until_settled(
    sums: LabelSums,
    *,
    seed: int,
    level: int = 0,
    buckets: int = 8,
    enough: int = 0,
    first_round: int = 0,
    max_rounds: int = 100,
    within: PartitionedArray | None = None,
    single_only: bool = False,
) -> Rounds:
    """Move vertices in rounds, until at most `enough` vertices move in a round.

    This is a collective operation; all ranks must call it.

    Parameters
    ----------
    sums : LabelSums
        After `begin`.
    seed, level : int
        Choose the buckets of the vertices in each round.
    buckets : int, default 8
        Sub-rounds of a round, a power of two. With more buckets, fewer vertices move at once.
    enough : int, default 0
        Moves in the last round, at most.
    first_round : int, default 0
        The number of the first round, of a run that goes on.
    max_rounds : int, default 100
    within, single_only
        As in `LabelSums.move`.
    """
    salt = (seed * _OF_SEED + level * _OF_LEVEL + first_round) % (1 << 63)
    rounds, moves, last = sums.move(
        buckets=buckets, salt=salt, enough=enough, rounds=max_rounds, within=within, single_only=single_only
    )
    return Rounds(rounds, moves, settled=rounds > 0 and last == 0)
