"""Evener and NumPy, imported at their first use. Calls on small graphs stay in NetworkX and need neither."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["ev", "np"]


class _Lazy:
    """A module that is imported when one of its attributes is read."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)


if TYPE_CHECKING:
    import numpy as np

    import evener as ev
else:
    ev, np = _Lazy("evener"), _Lazy("numpy")
