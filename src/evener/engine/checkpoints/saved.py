"""Saved: the checkpoint from which a run continues, with every rule checked before a kernel uses a value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evener.engine.checkpoints.fingerprint import check_fingerprint
from evener.engine.checkpoints.state import dtype_of, require_valid
from evener.errors import FileError, FormatError
from evener.partition.block_exchange import BlockExchange, block_bounds
from evener.system.agreement import on_all_ranks
from evener.system.log import log

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from evener.engine.checkpoints.folder import CheckpointFolder
    from evener.engine.checkpoints.manifest import Manifest
    from evener.engine.checkpoints.state import StateArray
    from evener.system.world import World

__all__ = ["Saved", "check_state", "dtypes_of", "open_newest", "require"]


class Saved(NamedTuple):
    """A generation from which a run continues.

    `path` is that of the manifest. `files` are the state files of the shards that this rank has read, and
    `arrays` their arrays. `exchange` knows the vertices of the shards of all ranks.
    """

    generation: int
    path: Path
    manifest: Manifest
    files: list[Path]
    arrays: list[list[NDArray[Any]]]
    exchange: BlockExchange


def require(valid: Any, expected: str, path: Path) -> None:
    """Raise FormatError unless a rule holds."""
    if not valid:
        raise FormatError(f"expected {expected}, but the checkpoint breaks this rule", path=path)


def dtypes_of(arrays: Mapping[str, StateArray]) -> list[list[str]]:
    """Return the name and the dtype of each array, as in a manifest."""
    return [[name, dtype_of(array).str] for name, array in arrays.items()]


def open_newest(
    folder: CheckpointFolder, found: list[int], world: World, n: int, run: Mapping[str, Any]
) -> Saved:
    """Return the first valid generation of those found, newest first, for a graph of `n` vertices.

    This is a collective operation; all ranks must call it. A warning names each generation that is not valid.
    The errors are those of `open_checkpoints`.
    """
    newest: FormatError | None = None
    for generation in found:
        try:
            return _read(folder, generation, world, n, run)
        except FormatError as error:
            newest = newest or error
            if world.rank == 0:
                log.warning("checkpoint %d is not valid and not used: %s", generation, error)
    msg = f"cannot resume: {folder.path} has no valid checkpoint; run without resume=True to begin again"
    if newest is None:
        raise FileError(msg)
    raise FormatError(f"{newest.reason}; {msg}", path=newest.path)


def _read(folder: CheckpointFolder, generation: int, world: World, n: int, run: Mapping[str, Any]) -> Saved:
    """Return a generation, of which this rank reads every k-th shard, for k ranks."""
    path = folder.manifest_path(generation)

    def read_manifest() -> Manifest | None:
        return folder.read_manifest(generation) if world.rank == 0 else None

    manifest: Manifest = world.allgather(on_all_ranks(world, read_manifest))[0]
    check_fingerprint(manifest.run, run, folder.path)
    own_shards = manifest.shards[world.rank :: world.size]

    def read_shards() -> tuple[NDArray[np.uint32], list[list[NDArray[Any]]]]:
        require(sum(shard.owned for shard in manifest.shards) == n, f"{n} vertices in 'shards'", path)
        dtypes = [dtype for _, dtype in manifest.arrays]
        vertices, arrays = [np.empty(0, np.uint32)], []
        for shard in own_shards:
            vertices += folder.read(shard.vertices, ["<u4"], shard.owned, shard.vertices_checksum)
            require((vertices[-1] < n).all(), f"vertex numbers below {n}", folder.path / shard.vertices)
            arrays.append(folder.read(shard.state, dtypes, shard.owned, shard.state_checksum))
        return np.concatenate(vertices), arrays

    vertices, arrays = on_all_ranks(world, read_shards)
    exchange = BlockExchange(world, block_bounds(n, world.size), vertices)
    each_once = exchange.lists_each_once()
    on_all_ranks(world, lambda: require(each_once, "each vertex once in the files of 'shards'", path))
    files = [folder.path / shard.state for shard in own_shards]
    return Saved(generation, path, manifest, files, arrays, exchange)


def check_state(
    saved: Saved, arrays: Mapping[str, StateArray], scalars: tuple[Any, ...], world: World, n: int
) -> None:
    """Check the state of a checkpoint against the arrays and scalars of the loop that continues.

    This is a collective operation; all ranks must call it. Raise FormatError if the checkpoint has other
    arrays or scalars, or a value breaks the rule of its array.
    """
    manifest, expected = saved.manifest, dtypes_of(arrays)
    require(manifest.arrays == expected, f"{expected} in 'arrays', found {manifest.arrays}", saved.path)
    alike = len(manifest.scalars) == len(scalars) and all(map(_is_alike, manifest.scalars, scalars))
    require(alike, f"the numbers of {manifest.run['algorithm']} in 'scalars'", saved.path)

    def check() -> None:
        for file, values in zip(saved.files, saved.arrays, strict=True):
            for (name, array), own in zip(arrays.items(), values, strict=True):
                require_valid(array, own, n, name=name, path=file)

    on_all_ranks(world, check)


def _is_alike(found: Any, own: Any) -> bool:
    """Return whether a scalar of a checkpoint has the type that the loop gives it."""
    if isinstance(own, list):
        return isinstance(found, list) and all(_is_alike(one, own[0] if own else 0) for one in found)
    for kind in (bool | np.bool_, int | np.integer, float | np.floating):
        if isinstance(own, kind) or isinstance(found, kind):
            return isinstance(own, kind) and isinstance(found, kind)
    return False
