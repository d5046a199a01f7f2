"""The peer transport: elements of one process that copy between their memories directly, such as GPUs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from evener.elements.peers import copy_between
from evener.engine.exchange.transport import Transport, copying_ends

if TYPE_CHECKING:
    from evener.elements.protocols import Element
    from evener.engine.exchange.transport import Receiver, Sender

__all__ = ["TRANSPORT"]


def _joins(sender: Element, receiver: Element) -> bool:
    return sender.peers is not None and sender.peers == receiver.peers


def _connect(sender: Element, receiver: Element) -> tuple[Sender, Receiver]:
    return copying_ends(receiver, partial(copy_between, sender, receiver))


TRANSPORT = Transport("peer", 2, _joins, _connect)
