"""The addresses that the GPUs of several ranks have in each other's processes."""

from __future__ import annotations

from types import SimpleNamespace

from evener.elements.cuda.group import RankGpuGroup
from evener.testing.ranks import run_ranks

_ALLOCATION = 1 << 16


def array(address):
    return SimpleNamespace(data=SimpleNamespace(ptr=address))


class Gpu:
    """A fake GPU. Its first allocation is at 2^16 * (rank + 1); opened memory is 2^32 * (rank + 1) higher."""

    def __init__(self, rank):
        self.sharing, self._rank, self.opened = self, rank, []

    def allocate(self, length, dtype, fill):
        return array(_ALLOCATION * (self._rank + 1) + 256)

    def upload(self, values):
        self.table = values
        return array(0)

    def wait(self):
        pass

    def export(self, part):
        base, offset = divmod(part.data.ptr, _ALLOCATION)
        return base.to_bytes(64, "little"), offset

    def address(self, handle):
        self.opened.append(int.from_bytes(handle, "little"))
        return ((self._rank + 1) << 32) + self.opened[-1] * _ALLOCATION


def test_addresses_of_arrays_of_other_ranks():
    """Each rank gets its own addresses of all arrays, and opens each allocation once."""

    def run(world):
        gpu = Gpu(world.rank)
        group = RankGpuGroup(world, gpu)
        own = _ALLOCATION * (world.rank + 1)
        arrays = [[array(own + 16)], [array(own + 7 * _ALLOCATION + 32)]]
        first, again = group.addresses(arrays), group.addresses(arrays)
        return gpu.table.tolist(), first, again, gpu.opened

    (table, first, again, opened), (_, of_second, *_) = run_ranks(2, run)
    there, here = 1 << 32, _ALLOCATION
    assert table == [here + 256, there + 2 * here + 256]
    assert first == again == [here + 16, there + 2 * here + 16, 8 * here + 32, there + 9 * here + 32]
    assert of_second[1::2] == [2 * here + 16, 9 * here + 32]
    assert opened == [2, 9]
