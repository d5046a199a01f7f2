"""The peer transport: elements of one process that copy between their memories directly, such as GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evener.elements.peers import copy_between
from evener.engine.exchange.transport import Channel, CopyingReceiver, CopyingSender, Transport

if TYPE_CHECKING:
    from evener.elements.protocols import Element

__all__ = ["TRANSPORT"]


def _joins(sender: Element, receiver: Element) -> bool:
    return sender.peers is not None and sender.peers == receiver.peers


def _connect(sender: Element, receiver: Element) -> tuple[CopyingSender, CopyingReceiver]:
    def copy(source: Any, target: Any) -> Any:
        return copy_between(sender, receiver, source, target)

    channel = Channel(copy)
    return CopyingSender(channel), CopyingReceiver(channel, receiver)


TRANSPORT = Transport("peer", 2, _joins, _connect)
