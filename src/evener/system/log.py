"""The log of the library. Its records have control characters as escapes."""

from __future__ import annotations

import logging

from evener.errors import printable, shorten

__all__ = ["log"]

# Longest message, in characters.
_MAX_MESSAGE = 600


class _Printable(logging.Filter):
    """Replace the message of each record, because names and files may hold any character."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Return true after the replacement."""
        record.msg, record.args = shorten(printable(record.getMessage()), _MAX_MESSAGE), ()
        return True


log = logging.getLogger("evener")
log.addFilter(_Printable())
