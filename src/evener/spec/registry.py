"""Registry of algorithms: modules of `evener.algorithms`, and entry points of other packages."""

from __future__ import annotations

import pkgutil
import warnings
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from evener.errors import ArgumentError
from evener.spec.algorithm import AlgorithmSpec

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.metadata import EntryPoint
    from pkgutil import ModuleInfo

__all__ = ["GROUP", "builtin_names", "current_name", "find", "names", "names_with_kernels", "synonyms"]

# The entry-point group in which another package registers an algorithm.
GROUP = "evener.algorithms"


_HOME = "evener.algorithms"


@cache
def builtin_names() -> tuple[str, ...]:
    """Return the names of the algorithms of Evener, without importing them."""
    return tuple(sorted(module.name for module in _modules()))


@cache
def names_with_kernels() -> tuple[str, ...]:
    """Return the names of the built-in algorithms with kernels of their own, which are folders."""
    return tuple(sorted(module.name for module in _modules() if module.ispkg))


def _modules() -> Iterator[ModuleInfo]:
    return pkgutil.iter_modules([str(Path(__file__).parents[1] / "algorithms")])


def names() -> list[str]:
    """Return the names of all registered algorithms, without importing them."""
    return sorted({*builtin_names(), *_registered()})


def find(name: str) -> AlgorithmSpec:
    """Return the spec of an algorithm.

    Raises
    ------
    ArgumentError
        If no algorithm has this name, or if another package registers an object that is not its spec.
    """
    if isinstance(name, str) and (ours := current_name(name)) is not None:
        return _spec(ours)
    if not isinstance(name, str) or name not in names():
        import difflib

        if ours := synonyms().get(name):
            hint = f"Evener names it {ours!r}"
        elif near := difflib.get_close_matches(str(name).lower(), names(), n=1):
            hint = f"did you mean {near[0]!r}?"
        else:
            hint = f"choose one of {', '.join(names())}"
        msg = f"there is no algorithm {name!r}; {hint}"
        raise ArgumentError(msg)
    return _spec(name)


def current_name(name: str) -> str | None:
    """Return the name of an algorithm by its former name, with a DeprecationWarning; None for other names."""
    if name in names() or (ours := _former_names().get(name)) is None:
        return None
    warnings.warn(f"the algorithm {name!r} is now named {ours!r}", DeprecationWarning, stacklevel=3)
    return ours


@cache
def _former_names() -> dict[str, str]:
    return {spec.former_name: spec.name for spec in map(_spec, builtin_names()) if spec.former_name}


@cache
def synonyms() -> dict[str, str]:
    """Return the names of built-in algorithms by their names in other libraries. Imports all specs."""
    return {other: name for name in builtin_names() for other in _spec(name).synonyms}


@cache
def _spec(name: str) -> AlgorithmSpec:
    if name in builtin_names():
        source = f"{_HOME}.{name}"
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

    own = builtin_names()
    return {point.name: point for point in entry_points(group=GROUP) if point.name not in own}


def _package_of(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else "a package"
