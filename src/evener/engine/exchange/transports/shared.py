"""The same-memory transport: holder and owner see each other's arrays, so the receiver reads and reduces.

Nothing is copied into a message. An exchange is still dense (the whole slice) or sparse (positions and
values of what changed), whichever is fewer bytes: that is what is touched, and what is counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evener.engine.exchange.encoding import bit_bytes, dense_bytes, sparse_bytes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.elements import Element
    from evener.partition.route import Route

__all__ = ["pull", "push"]


def push(
    route: Route,
    element: Element,
    op: str,
    mirrored: NDArray[Any],
    owned: NDArray[Any],
    flags: tuple[NDArray[Any], NDArray[Any]] | None,
) -> int:
    """Reduce a route's mirrors into their owner, on the owner's element; returns the bytes that moved.

    `flags` are the bitmaps of the holder and of the owner, for an exchange of what changed alone.
    """
    if op == "or":
        element.kernel("exchange.push_or_bits")(route.index, route.begin, mirrored, owned)
        return bit_bytes(len(route))
    if flags is None:
        element.kernel(f"exchange.push_{op}")(route.index, route.begin, mirrored, owned)
        return len(route) * owned.itemsize
    mirror_flags, owned_flags = flags
    args = (route.index, route.begin, mirrored, mirror_flags, owned, owned_flags)
    dense = dense_bytes(len(route), owned.itemsize)
    if op == "set":  # overwrites, so a value without a flag must not be touched, however many travel
        moved = int(element.kernel("exchange.push_set_flagged")(*args))
        return min(sparse_bytes(moved, owned.itemsize), dense)
    end = route.begin + len(route)
    flagged = int(element.kernel("bits.count_range")(mirror_flags, route.begin, end))
    sparse = sparse_bytes(flagged, owned.itemsize)
    element.kernel(f"exchange.push_{op}_{'flagged' if sparse < dense else 'all'}")(*args)
    return min(sparse, dense)


def pull(
    route: Route,
    element: Element,
    owned: NDArray[Any],
    mirrored: NDArray[Any],
    flags: tuple[NDArray[Any], NDArray[Any]] | None,
    *,
    as_bits: bool,
) -> int:
    """Copy the owner's values into a route's mirrors, on the holder's element; returns the bytes moved."""
    if as_bits:
        element.kernel("exchange.pull_bits")(route.begin, route.held, route.before, owned, mirrored)
        return bit_bytes(len(route))
    if flags is None:
        element.kernel("exchange.pull")(route.index, route.begin, owned, mirrored)
        return len(route) * owned.itemsize
    owned_flags, mirror_flags = flags
    args = (route.begin, route.held, route.before, owned, owned_flags, mirrored, mirror_flags)
    moved = int(element.kernel("exchange.pull_flagged")(*args))
    return min(sparse_bytes(moved, owned.itemsize), dense_bytes(len(route), owned.itemsize))
