"""Text for HTML pages."""

from __future__ import annotations

import html

from evener.errors import printable

__all__ = ["escape"]


def escape(text: str) -> str:
    """Return a text for HTML, with control characters as escapes, except newlines."""
    return html.escape(printable(text, kept="\n"))
