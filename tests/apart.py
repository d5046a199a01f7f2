"""CPU elements with memories of their own, as GPUs have: what needs no GPU about those is tested on them."""

from __future__ import annotations

from functools import partial

import numpy as np

from evener.elements import CpuElement


class Held(np.ndarray):
    """An array in some element's memory: the host may slice it and fill it, but not calculate with it."""

    memory = None
    travels = False

    def __array_finalize__(self, source):
        self.memory = getattr(source, "memory", None)
        self.travels = getattr(source, "travels", False)

    def __array_ufunc__(self, *_, **__):
        raise TypeError("the host calculates with what it has not fetched")

    def __array_function__(self, *_):
        raise TypeError("the host calculates with what it has not fetched")


class Late:
    """A vote that is a number only when it is read."""

    def __init__(self, value):
        self.value = value

    def __int__(self):
        return int(self.value)


class ApartElement(CpuElement):
    """A CPU element that shares its memory with those of the same number alone, and only then its arrays.

    One that is deferred is driven by the calling thread, its kernels return votes to be read, and what it
    sends leaves as late as it may, when it is received; what another sends is there at once.
    """

    def __init__(self, name, memory, *, deferred=False):
        super().__init__(name, 1)
        self.memory = memory
        self.deferred = deferred
        self._asked = {}
        self._rounds = 0
        self._plain = CpuElement(name, 1)

    def array(self, length, dtype, fill=None, *, travels=False):
        array = self._held(self._plain.allocate(length, dtype, fill))
        array.travels = travels
        return array

    def upload(self, array):
        assert not isinstance(array, Held)
        held = self._held(np.array(array))
        held.travels = True  # what tests make
        return held

    def edges(self, length, dtype, far):
        assert 0 <= far <= length
        return self.array(length, dtype)

    def begin_write(self, edges, begin, end):
        assert 0 <= begin <= end <= len(edges)
        return np.empty(end - begin, edges.dtype)

    def end_write(self, edges, begin, written):
        self._seen(edges)[begin : begin + len(written)] = written

    def download(self, array):
        return self._seen(array).copy()

    def begin_round(self):
        self._rounds += 1

    def send(self, source, receiver, target):
        assert receiver._rounds
        assert (source.dtype, source.shape) == (target.dtype, target.shape)
        assert source.travels
        assert target.travels
        arrival = partial(np.copyto, receiver._seen(target), self._seen(source))
        return arrival if self.deferred else arrival()

    def receive(self, arrival):
        if arrival is not None:
            arrival()

    def kernel(self, name):
        if name not in self._asked:
            kernel = super().kernel(name)

            def of_own_arrays(*args):
                given = [self._seen(arg) if isinstance(arg, np.ndarray) else arg for arg in args]
                answer = kernel(*given)
                return Late(answer) if self.deferred and answer is not None else answer

            self._asked[name] = of_own_arrays
        return self._asked[name]

    def read(self, vote):
        return vote.value if isinstance(vote, Late) else vote

    def _held(self, array):
        held = array.view(Held)
        held.memory = self.memory
        return held

    def _seen(self, array):
        """The array for kernels, which must lie in this memory."""
        assert isinstance(array, Held)
        assert array.memory == self.memory
        return array.view(np.ndarray)


def parse_apart(on, **_):
    """Elements "apart:0" or "late:0" in the memory number 0, and so on; the late ones are deferred."""
    words = [name.split(":") for name in on]
    assert {kind for kind, _ in words} <= {"apart", "late"}
    return [
        ApartElement(f"{kind}:{memory}#{i}", int(memory), deferred=kind == "late")
        for i, (kind, memory) in enumerate(words)
    ]
