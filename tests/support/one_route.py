"""One exchange on one route of 800 mirrors, whose bytes are computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from evener.engine.array import PartitionedArray
from evener.engine.exchange.exchange import Exchange
from evener.engine.executor import run_steps
from evener.partition.route import Route, upload_route
from support.bitmaps import pack, unpack

# 800 dense float32 mirrors need 3,300 bytes: 3,200 of values and 100 of flags. A sparse mirror needs 8 bytes:
# 412 need 3,296, and 413 need 3,304. With float64: dense 6,500 bytes, sparse 12 each, so 541 need 6,492.
sparse_and_dense = pytest.mark.parametrize(
    ("verb", "dtype", "flagged", "moved"),
    [
        ("push_add", "float32", 412, 3296),
        ("push_add", "float32", 413, 3300),
        ("push_min", "float64", 541, 6492),
        ("push_min", "float64", 542, 6500),
        ("pull", "float32", 0, 0),
        ("pull", "float64", 541, 6492),
        ("pull", "float32", 800, 3300),
    ],
)


def check_one_route(holder, owner, verb, dtype, flagged, moved):
    """Exchange one route of 800 mirrors, of which the first `flagged` are flagged; check values and bytes."""
    begin, k = 100, 800
    index = np.arange(k, dtype=np.uint32) * 2
    route = upload_route(Route.from_index(0, 1, begin, index, 2 * k), owner)
    mirrored, owned = np.ones(begin + k, dtype), np.full(2 * k, 2, dtype)
    mirror_flags, owned_flags = np.zeros(begin + k, bool), np.zeros(2 * k, bool)
    if verb == "pull":
        owned_flags[: 2 * flagged : 2] = True
    else:
        mirror_flags[begin : begin + flagged] = True
        mirrored[begin + flagged :] = 0 if verb == "push_add" else 9
    here = holder.upload(mirrored), holder.upload(pack(mirror_flags))
    there = owner.upload(owned), owner.upload(pack(owned_flags))
    assert _moved(route, holder, owner, verb, here, there) == moved
    mirrored, mirror_flags = holder.download(here[0]), unpack(holder.download(here[1]), begin + k)
    owned, owned_flags = owner.download(there[0]), unpack(owner.download(there[1]), 2 * k)
    if verb == "pull":
        assert (mirrored[begin : begin + flagged] == 2).all()
        assert (mirrored[begin + flagged :] == 1).all()
        assert mirror_flags.sum() == mirror_flags[begin : begin + flagged].sum() == flagged
    else:
        assert (owned[: 2 * flagged : 2] == (3 if verb == "push_add" else 1)).all()
        assert (owned[1 : 2 * flagged : 2] == 2).all()
        assert (owned[2 * flagged :] == 2).all()
        assert not mirror_flags.any()
        assert owned_flags.sum() == owned_flags[: 2 * flagged : 2].sum() == flagged


def _moved(route, holder, owner, verb, here, there):
    """Return the bytes of an exchange. Between two memories, the sender's array changes meanwhile."""
    elements = [holder, owner]
    exchange = Exchange(elements, [route])
    arrays, flags = (PartitionedArray(pair) for pair in zip(here, there, strict=True))
    flags.bits = True
    if verb == "pull":
        sender, steps = 1, exchange.pull(arrays, flags)
    else:
        sender, steps = 0, exchange.push(arrays, verb.removeprefix("push_"), flags)
    moved = 0
    for number, half in enumerate(steps):
        for element in elements:
            element.begin_round()
        done = run_steps(elements, half, 0)
        sent = (nbytes for one in done for value in one.values for _, nbytes in value)
        moved += sum(nbytes() if callable(nbytes) else nbytes for nbytes in sent)
        if number == 0 and holder.memory != owner.memory:
            elements[sender].run(arrays.parts[sender].fill, 55)
    return moved
