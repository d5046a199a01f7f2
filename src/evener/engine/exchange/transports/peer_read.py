"""The peer-read transport: the receiver's kernels read the sender's arrays over the link between two GPUs.

Bitmaps and values that changed are read in place, without packing and copies. All values of a route are
copied instead, because a copy keeps no multiprocessor busy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evener.engine.exchange.transport import Transport, reading_ends

if TYPE_CHECKING:
    from evener.elements.protocols import Element

__all__ = ["TRANSPORT"]


def _joins(sender: Element, receiver: Element) -> bool:
    return sender.peers is not None and sender.peers == receiver.peers and receiver.reads(sender)


TRANSPORT = Transport("peer read", 1, _joins, reading_ends, complete=False)
