"""Warnings about public names that were renamed."""

from __future__ import annotations

import warnings
from typing import Any

__all__ = ["renamed_property", "warn_renamed"]


def warn_renamed(old: str, new: str) -> None:
    """Warn that a name such as ``Graph.has`` was renamed; call this from the old function."""
    warnings.warn(f"{old} is deprecated; use {new}", DeprecationWarning, stacklevel=3)


def renamed_property(old: str, new: str) -> property:
    """Return a property that warns and then returns the attribute with the new name."""

    def value(owner: Any) -> Any:
        warn_renamed(old, new)
        return getattr(owner, new)

    return property(value, doc=f"Deprecated name of `{new}`.")
