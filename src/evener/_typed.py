"""Public functions that share their name with the package they live in, for type checkers alone.

Imported in ``evener/__init__.py`` from the package itself, mypy takes the name for the package.
"""

from __future__ import annotations

from evener.partition import partition
from evener.verify import verify

__all__ = ["partition", "verify"]
