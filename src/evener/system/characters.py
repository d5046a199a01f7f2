"""Characters of texts from files and users, which may be any."""

from __future__ import annotations

__all__ = ["printable"]


def printable(text: str) -> str:
    """Return a text with control characters as escapes, because names in files may have any character."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
