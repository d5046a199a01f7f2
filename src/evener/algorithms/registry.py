"""Registry of algorithms: folders next to this file, vertex programs, and entry points of other packages."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from evener.algorithms.spec import AlgorithmSpec
from evener.errors import ArgumentError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["GROUP", "builtin_names", "find", "names", "program_names"]

# The entry-point group in which another package registers an algorithm.
GROUP = "evener.algorithms"


# The package with one file for each algorithm that is a vertex program.
_LIBRARY = "evener.programs.library"


@cache
def builtin_names() -> tuple[str, ...]:
    """Return the names of the algorithms in the folders next to this file, without importing them."""
    folders = pkgutil.iter_modules([str(Path(__file__).parent)])
    return tuple(sorted(module.name for module in folders if module.ispkg))


@cache
def program_names() -> tuple[str, ...]:
    """Return the names of the algorithms that are vertex programs, without importing them."""
    files = pkgutil.iter_modules([str(Path(__file__).parents[1] / "programs" / "library")])
    return tuple(sorted(module.name for module in files))


def names() -> list[str]:
    """Return the names of all registered algorithms, without importing them."""
    return sorted({*builtin_names(), *program_names(), *_registered()})


def find(name: str) -> AlgorithmSpec:
    """Return the spec of an algorithm.

    Raises
    ------
    ArgumentError
        If no algorithm has this name, or if another package registers an object that is not its spec.
    """
    if not isinstance(name, str) or name not in names():
        import difflib

        near = difflib.get_close_matches(str(name).lower(), names(), n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"choose one of {', '.join(names())}"
        msg = f"there is no algorithm {name!r}; {hint}"
        raise ArgumentError(msg)
    return _spec(name)


@cache
def _spec(name: str) -> AlgorithmSpec:
    if name in builtin_names() or name in program_names():
        source = f"{__package__ if name in builtin_names() else _LIBRARY}.{name}"
        spec = import_module(source).SPEC
    else:
        point = _registered()[name]
        source = f"{point.value!r}, which {_package_of(point)} registers as {GROUP}"
        try:
            spec = point.load()
        except Exception as error:
            msg = f"the algorithm {name!r} cannot be loaded from {source}: {error}"
            raise ArgumentError(msg) from error
    if not isinstance(spec, AlgorithmSpec) or spec.name != name:
        msg = f"expected an AlgorithmSpec with the name {name!r} in {source}, found {spec!r}"
        raise ArgumentError(msg)
    return spec


@cache
def _registered() -> dict[str, EntryPoint]:
    """Return the entry points by name. A built-in name cannot be replaced."""
    from importlib.metadata import entry_points

    own = {*builtin_names(), *program_names()}
    return {point.name: point for point in entry_points(group=GROUP) if point.name not in own}


def _package_of(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else "a package"
