"""The staged transport: packets pass through host memory, page-locked for GPUs.

A GPU copies by its own streams, after the work queued so far and concurrently with later work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evener.engine.exchange.transport import Transport, copying_ends

if TYPE_CHECKING:
    from evener.elements.protocols import Element
    from evener.engine.exchange.transport import Receiver, Sender

__all__ = ["TRANSPORT"]


def _joins(sender: Element, receiver: Element) -> bool:
    return sender.addressable or receiver.addressable


def _connect(sender: Element, receiver: Element) -> tuple[Sender, Receiver]:
    return copying_ends(receiver, sender.copy_out if sender.deferred else receiver.copy_in)


TRANSPORT = Transport("staged", 3, _joins, _connect)
