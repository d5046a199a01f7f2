"""Policy: an order of the vertices, which decides the element that owns each vertex.

Each module of `evener.partition.policies` is a policy of the module's name.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, NamedTuple

from evener.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Policy", "check_policy", "find_policy", "policy_names"]

_FOLDER = "evener.partition.policies"


class Policy(NamedTuple):
    """An order of the vertices. Each module of `policies` has one named `POLICY`.

    Attributes
    ----------
    order : callable
        Called with the vertices in descending degree (ndarray of uint32) and a seed. Returns the same
        vertices in the order in which elements get them.
    degrees_only : bool
        Whether the order depends on the positions in `by_degree` only. The planner then applies `order` to
        the degrees. Otherwise the planner expects the same mixture of degrees on every element.
    """

    order: Callable[[NDArray[np.uint32], int], NDArray[np.uint32]]
    degrees_only: bool


def policy_names() -> list[str]:
    """Return the names of all policies, in alphabetical order, without importing them."""
    return sorted(module.name for module in iter_modules(import_module(_FOLDER).__path__))


def find_policy(name: str) -> Policy:
    """Return a policy by its name."""
    check_policy(name)
    policy: Policy = import_module(f"{_FOLDER}.{name}").POLICY
    return policy


def check_policy(name: str, *, auto: bool = False) -> None:
    """Check the name of a policy.

    Parameters
    ----------
    name : str
    auto : bool, default False
        Whether "auto" is accepted.

    Raises
    ------
    ArgumentError
        If there is no policy of this name.
    """
    known = ["auto", *policy_names()] if auto else policy_names()
    if not isinstance(name, str) or name not in known:
        more = "" if auto else " (or auto, for an algorithm or a plan)"
        msg = f"policy=: expected one of {', '.join(known)}{more}, found {name!r}"
        raise ArgumentError(msg)
