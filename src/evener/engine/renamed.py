"""Old names of parameters, accepted for one release with a warning."""

from __future__ import annotations

import warnings
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    P = ParamSpec("P")
    R = TypeVar("R")

__all__ = ["accept_old_names"]


def accept_old_names(**names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator for a function whose parameters were renamed: ``old="new"``."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def renaming(*args: Any, **options: Any) -> R:
            for old in names.keys() & options.keys():
                msg = f"{function.__name__}({old}=) is now {function.__name__}({names[old]}=)"
                warnings.warn(msg, DeprecationWarning, stacklevel=2)
                options[names[old]] = options.pop(old)
            return function(*args, **options)

        return renaming

    return decorate
