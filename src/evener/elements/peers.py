"""Copies between the memories of peers, such as GPUs of one process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.elements.protocols import Element

__all__ = ["copy_between"]


def copy_between(sender: Element, receiver: Element, source: NDArray[Any], target: NDArray[Any]) -> Any:
    """Begin to copy `source` of one peer to `target` of another, and return an event after the copy.

    The sender's later work comes after the copy, because it may change the source. Call `begin_round` of the
    receiver before, and `wait_for` with the event afterwards.
    """
    copied = receiver.copy_from(source, target, sender.memory, sender.record())
    sender.wait_for(copied)
    return copied
