"""The staged transport: packets pass through host memory, page-locked for GPUs.

A GPU copies by its own streams, after the work queued so far and concurrently with later work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evener.engine.exchange.transport import Channel, CopyingReceiver, CopyingSender, Transport

if TYPE_CHECKING:
    from evener.elements.protocols import Element

__all__ = ["TRANSPORT"]


def _joins(sender: Element, receiver: Element) -> bool:
    return sender.addressable or receiver.addressable


def _connect(sender: Element, receiver: Element) -> tuple[CopyingSender, CopyingReceiver]:
    channel = Channel(sender.copy_out if sender.deferred else receiver.copy_in)
    return CopyingSender(channel), CopyingReceiver(channel, receiver)


TRANSPORT = Transport("staged", 3, _joins, _connect)
