"""Transports between elements of one process: in the memory that both share, between GPUs, or by the host."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from evener.elements.protocols import begin_copy
from evener.engine.exchange.transport import Transport, copying_ends, reading_ends

if TYPE_CHECKING:
    from evener.elements.protocols import Element
    from evener.engine.exchange.transport import Receiver, Sender

__all__ = ["TRANSPORTS"]


def _share_memory(sender: Element, receiver: Element) -> bool:
    return sender.memory == receiver.memory


def _are_peers(sender: Element, receiver: Element) -> bool:
    return sender.peers is not None and sender.peers == receiver.peers


def _peer_reads(sender: Element, receiver: Element) -> bool:
    return _are_peers(sender, receiver) and receiver.reads(sender)


def _copy_by_host(sender: Element, receiver: Element) -> bool:
    return sender.addressable or receiver.addressable


def _connect_peers(sender: Element, receiver: Element) -> tuple[Sender, Receiver]:
    # The sender waits when the packet is received, so that a published packet does not stop it before.
    return copying_ends(receiver, partial(begin_copy, sender, receiver), waiting=[sender])


def _connect_by_host(sender: Element, receiver: Element) -> tuple[Sender, Receiver]:
    return copying_ends(receiver, sender.copy_out if sender.deferred else receiver.copy_in)


TRANSPORTS = (
    # The receiver reads the sender's arrays in place, and nothing is copied.
    Transport("shared", 0, _share_memory, reading_ends),
    # The receiver's kernels read the sender's arrays over the link between two GPUs. All values of a route
    # are copied instead, because a copy keeps no multiprocessor busy.
    Transport("peer read", 1, _peer_reads, reading_ends, complete=False),
    # Each element copies from the other's memory directly.
    Transport("peer", 2, _are_peers, _connect_peers),
    # Packets pass through host memory, page-locked for GPUs. A GPU copies by its own streams, after the work
    # queued so far and concurrently with later work.
    Transport("staged", 3, _copy_by_host, _connect_by_host),
)
