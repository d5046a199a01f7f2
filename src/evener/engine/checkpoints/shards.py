"""Shards: the files of one rank. Each generation has its own state, and one of two files of vertices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evener.engine.checkpoints.folder import shard_name
from evener.engine.checkpoints.manifest import Shard

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from evener.engine.checkpoints.folder import CheckpointFolder

__all__ = ["ShardWriter"]


class ShardWriter:
    """Writes the shards of this rank.

    Parameters
    ----------
    folder : CheckpointFolder
    rank : int
    vertices : sequence of ndarray of uint32
        The global numbers of the owned vertices of each partition.
    """

    def __init__(self, folder: CheckpointFolder, rank: int, vertices: Sequence[NDArray[np.uint32]]) -> None:
        self._folder, self._rank, self._vertices = folder, rank, vertices
        # Two files of the vertices, each with its checksum, and the generations of the files of state.
        self._vertex_files: list[tuple[str, int]] = []
        self._states: list[int] = []

    def write(self, generation: int, arrays: Sequence[NDArray[Any]], *, turn: int, oldest_kept: int) -> Shard:
        """Write the shard of a generation, and return its file names and checksums.

        Parameters
        ----------
        generation : int
        arrays : sequence of ndarray
            The values of the owned vertices.
        turn : int
            The file of vertices that the shard names: 0 or 1. The first shard has 0.
        oldest_kept : int
            The states of generations before this one may be overwritten.

        Raises
        ------
        OSError
            If a file cannot be written.
        """
        if len(self._vertex_files) == turn:
            name = shard_name(generation, self._rank, "vertices")
            self._vertex_files.append((name, self._folder.write(name, self._vertices)))
        name, over = shard_name(generation, self._rank, "state"), None
        if self._states and self._states[0] < oldest_kept:
            over = shard_name(self._states.pop(0), self._rank, "state")
        checksum = self._folder.write(name, arrays, over=over)
        self._states.append(generation)
        return Shard(name, checksum, *self._vertex_files[turn], sum(map(len, self._vertices)))

    def remove(self, generation: int) -> None:
        """Remove the state of a generation that another rank could not write."""
        if generation in self._states:
            self._states.remove(generation)
            self._folder.remove(shard_name(generation, self._rank, "state"))
