"""The work queue: the parts of a queue cover every edge once, in whole rows and in pieces of rows."""

from __future__ import annotations

import numpy as np
import pytest

from evener.kernels.cpu.work_queue import queue_part, split_queue

PIECE = 1 << 13
LARGEST = np.uint64(16)


def split(lengths, order):
    """Split a queue of rows; return whether it is in pieces, the edges of each part, and the chunk size."""
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint64)
    queue = np.asarray(order, np.uint32)
    in_pieces, count, chunk = split_queue(offsets, queue, np.uint64(len(queue)), LARGEST)
    parts = [queue_part(offsets, queue, in_pieces, np.uint64(i)) for i in range(count)]
    for vertex, begin, end in parts:
        assert offsets[vertex] <= begin <= end <= offsets[vertex + 1]
    return in_pieces, [(int(begin), int(end)) for _, begin, end in parts], chunk


@pytest.mark.parametrize("queued", [0, 1, 7, 64, 65, 200])
def test_parts_cover_every_edge_once(queued):
    for seed in range(8):
        check_parts(queued, seed)


def check_parts(queued, seed):
    rng = np.random.default_rng(seed)
    lengths = rng.choice([0, 1, 3, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE, 40_000], 250)
    order = rng.permutation(len(lengths))[:queued]
    in_pieces, parts, _ = split(lengths, order)
    assert in_pieces == (queued <= 64 and lengths[order].max(initial=0) > PIECE)
    ends = np.cumsum(lengths)
    expected = [np.arange(ends[v] - lengths[v], ends[v]) for v in order]
    found = [np.arange(begin, end) for begin, end in parts]
    assert np.concatenate([[], *found]).tolist() == np.concatenate([[], *expected]).tolist()
    if in_pieces:
        assert max(end - begin for begin, end in parts) <= PIECE


def test_pieces_of_hubs_are_taken_one_by_one():
    """Short rows are taken in large chunks. With a hub, pieces are taken singly, wherever the hub is."""
    short, hub = [2] * 16, [1_000_000]
    assert split(short * 2, range(32))[::2] == (False, LARGEST)
    for lengths in (short + hub, hub + short):
        assert split(lengths, range(17))[::2] == (True, 1)
