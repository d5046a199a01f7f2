"""The fingerprint of a run: the graph, the algorithm and its arguments, which a resumed run must share."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import ArgumentError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from evener.engine.engine import Engine
    from evener.graph.graph import Graph
    from evener.system.world import World

__all__ = ["check_fingerprint", "fingerprint_of", "json_value"]

# Odd multipliers of a 64-bit mixing function.
_OF_VERTEX, _OF_DEGREE, _MIX = (
    np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(0xD6E8FEB86659FD93),
)  # fmt: skip
_SHIFT = np.uint64(32)


def fingerprint_of(
    engine: Engine, graph: Graph, world: World, algorithm: str, arguments: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the facts that identify a run, as JSON keeps them. They do not depend on the placement.

    This is a collective operation; all ranks must call it.
    """
    pairs = zip(
        engine.download(engine.vertices), engine.download(engine.out_degree), engine.owned, strict=True
    )
    digest = sum(_digest(vertices[:owned], degrees[:owned]) for vertices, degrees, owned in pairs)
    lightest, heaviest = graph.weight_range
    weights = None if graph.weight_dtype is None else f"{graph.weight_dtype} from {lightest} to {heaviest}"
    facts = {
        "algorithm": algorithm,
        "number of vertices": graph.n,
        "number of edges": graph.m,
        "directed": graph.directed,
        "weights": weights,
        "degrees": f"{world.allreduce(digest, 'sum') % (1 << 64):016x}",
        **{f"{name}=": json_value(value) for name, value in arguments.items()},
    }
    kept: dict[str, Any] = json.loads(json.dumps(facts))
    return kept


def check_fingerprint(found: Mapping[str, Any], expected: Mapping[str, Any], folder: Path) -> None:
    """Raise ArgumentError if a checkpoint belongs to another run than the one that is to continue."""
    for name in {**expected, **found}:
        own, other = expected.get(name), found.get(name)
        if json.dumps(own) != json.dumps(other):  # NaN differs from itself
            msg = (
                f"cannot resume: the checkpoints in {folder} are of another run; expected {own} for {name}, "
                f"found {other}; give the graph and the arguments of that run, or name another folder"
            )
            raise ArgumentError(msg)


def _digest(vertices: NDArray[np.uint32], degrees: NDArray[np.uint32]) -> int:
    """Return a checksum of the degrees that does not depend on the order of the vertices."""
    mixed = vertices * _OF_VERTEX + degrees * _OF_DEGREE
    mixed = (mixed ^ (mixed >> _SHIFT)) * _MIX
    return int((mixed ^ (mixed >> _SHIFT)).sum(dtype=np.uint64))


def json_value(value: Any) -> Any:
    """Return a value that JSON can hold; a checksum in place of many values."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        checksum = zlib.crc32(np.ascontiguousarray(value).view(np.uint8).data)
        return f"{value.size} values of {value.dtype} with checksum {checksum:08x}"
    if isinstance(value, Mapping):
        content = repr(sorted((str(key), json_value(own)) for key, own in value.items()))
        return f"{len(value)} values with checksum {zlib.crc32(content.encode()):08x}"
    if isinstance(value, list | tuple):
        return [json_value(one) for one in value]
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)
