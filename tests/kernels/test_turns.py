"""Turns: every edge of a queue is one part's, whichever way the queue is shared out."""

from __future__ import annotations

import numpy as np
import pytest

from evener.kernels.cpu.work_queue import part_of_queue, parts_of_queue

PIECE = 1 << 13
MOST = np.uint64(16)


def shared_out(lengths, order):
    """Whether by pieces, the parts' edges in turn, and how many are taken at a time."""
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint64)
    queue = np.asarray(order, np.uint32)
    pieces, parts, run = parts_of_queue(offsets, queue, np.uint64(len(queue)), MOST)
    taken = [part_of_queue(offsets, queue, pieces, np.uint64(i)) for i in range(parts)]
    for vertex, begin, end in taken:
        assert offsets[vertex] <= begin <= end <= offsets[vertex + 1]
    return pieces, [(int(begin), int(end)) for _, begin, end in taken], run


@pytest.mark.parametrize("queued", [0, 1, 7, 64, 65, 200])
def test_every_edge_of_a_queue_is_one_parts(queued):
    for seed in range(8):
        check_parts(queued, seed)


def check_parts(queued, seed):
    rng = np.random.default_rng(seed)
    lengths = rng.choice([0, 1, 3, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE, 40_000], 250)
    order = rng.permutation(len(lengths))[:queued]
    pieces, taken, _ = shared_out(lengths, order)
    assert pieces == (queued <= 64 and lengths[order].max(initial=0) > PIECE)
    ends = np.cumsum(lengths)
    expected = [np.arange(ends[v] - lengths[v], ends[v]) for v in order]
    found = [np.arange(begin, end) for begin, end in taken]
    assert np.concatenate([[], *found]).tolist() == np.concatenate([[], *expected]).tolist()
    if pieces:
        assert max(end - begin for begin, end in taken) <= PIECE


def test_pieces_are_taken_one_by_one_wherever_the_hub_is():
    """Of short rows many are taken at a time, and the first ones do not tell that a hub comes."""
    short, hub = [2] * 16, [1_000_000]
    assert shared_out(short * 2, range(32))[::2] == (False, MOST)
    for lengths in (short + hub, hub + short):
        assert shared_out(lengths, range(17))[::2] == (True, 1)
