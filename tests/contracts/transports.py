"""The contract of a transport: a class of tests for each transport to inherit.

A subclass names the elements whose routes all use the transport::

    class TestMyTransport(TransportContract):
        on = ("mine:0", "mine:1")
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest

from evener.engine.engine import Engine
from evener.graph.graph import Graph
from evener.partition.build import partition
from support.expected_exchanges import (
    bit_bytes,
    bytes_sent,
    changed_bytes,
    download_flags,
    expected_bytes,
    mirror_flags,
    owner_values,
    random_flags,
    random_values,
    reduce_all,
    upload_flags,
    value_bytes,
    vertex_numbers,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from evener.engine.array import PartitionedArray

__all__ = ["TransportContract"]

# A kernel that reads a bitmap and returns a count.
_COUNT = "bits.count_range"


class TransportContract:
    """Tests that every transport passes.

    The tests show that the transport moves the right slice of an array, and that each packet reaches its
    owner or mirrors. Tests run on three graphs: partitions without vertices or mirrors, mirrors that share a
    word of a bitmap, and mirrors in many words. Each graph has another value type.

    Attributes
    ----------
    on : tuple of str
        The names of the elements.
    repetitions : int
        Exchanges whose values must be equal every time.
    """

    on: tuple[str, ...]
    repetitions: int = 100

    def engine(self, n: int) -> Engine:
        """Return an engine on a graph of `n` vertices and ``4 * n`` edges, shared equally."""
        sources, targets = np.random.default_rng(n).integers(0, n, (2, 4 * n))
        graph = Graph.from_edges(sources, targets, directed=n % 2 == 0, n=n)
        alpha = 1 / len(self.on) if len(set(self.on)) == 1 else 0.5
        engine = Engine(partition(graph, list(self.on), policy="random", alpha=alpha, seed=0), "contract")
        engine.superstep("exchange")
        return engine

    def engines(self) -> Iterator[tuple[Engine, str]]:
        """Yield an engine for each graph, and the value type to test there."""
        for n, dtype in ((3, "uint32"), (65, "float32"), (2000, "float64")):
            yield self.engine(n), dtype

    @pytest.fixture
    def rng(self) -> np.random.Generator:
        """Return a generator of random values."""
        return np.random.default_rng(7)

    def test_routes_join_each_mirror_to_its_vertex(self) -> None:
        """Each mirror is on one route, at the position of its owned vertex."""
        for engine, _ in self.engines():
            vertices = vertex_numbers(engine)
            reached = [np.zeros(p.mirrors, int) for p in engine.partitions]
            for route in engine.routes:
                here = route.mirror_partition
                begin, owner = engine.partitions[here].owned, engine.partitions[route.owner]
                index = engine.elements[route.owner].download(route.index)
                mirrors = slice(route.begin, route.begin + len(route))
                assert (np.diff(index.astype(int)) > 0).all()
                assert (index < owner.owned).all()
                assert (vertices[here][mirrors] == vertices[route.owner][index]).all()
                reached[here][mirrors.start - begin : mirrors.stop - begin] += 1
            assert all((count == 1).all() for count in reached)

    # ---- pull ------------------------------------------------------------------------------------

    def test_pull_copies_owners_to_mirrors(self, rng: np.random.Generator) -> None:
        """After a pull, mirrors have the owners' values."""
        for engine, dtype in self.engines():
            values = random_values(engine, rng, dtype)
            array = engine.upload([part.copy() for part in values])
            engine.pull(array)
            check_values(engine, array, owner_values(engine, values))
            expected = expected_bytes(engine, "owner", value_bytes(values[0].itemsize))
            assert bytes_sent(engine) == expected

    def test_pull_of_bits_sets_and_clears(self, rng: np.random.Generator) -> None:
        """After a pull of a bitmap, mirrors have the owners' flags."""
        for engine, _ in self.engines():
            flags = random_flags(engine, rng, 0.5)
            words = upload_flags(engine, flags)
            engine.pull(words)
            check_flags(engine, words, owner_values(engine, flags))
            assert bytes_sent(engine) == expected_bytes(engine, "owner", bit_bytes)

    # ---- publish ---------------------------------------------------------------------------------

    def test_published_values_arrive(self, rng: np.random.Generator) -> None:
        """Each round publishes an array before it pulls the array of the previous round."""
        for engine, dtype in self.engines():
            arrays = [engine.upload(random_values(engine, rng, dtype)) for _ in range(2)]
            expected = [owner_values(engine, engine.download(array)) for array in arrays]
            whole = engine.bits()
            engine.compute(_COUNT, whole, 0, engine.owned, publish=arrays[0])
            for k in range(6):
                now, then = k % 2, (k + 1) % 2
                engine.compute(_COUNT, whole, 0, engine.owned, pull_before=arrays[now], publish=arrays[then])
                check_values(engine, arrays[now], expected[now])

    def test_published_bits_arrive(self, rng: np.random.Generator) -> None:
        """Two published bitmaps arrive, the second during the kernel that uses the first."""
        for engine, _ in self.engines():
            flags = [random_flags(engine, rng, 0.5) for _ in range(2)]
            one, two = (upload_flags(engine, own) for own in flags)
            engine.compute(_COUNT, one, 0, engine.owned, publish=one)
            engine.compute(_COUNT, one, 0, engine.owned, pull_before=one, publish=two)
            engine.pull(two)
            check_flags(engine, one, owner_values(engine, flags[0]))
            check_flags(engine, two, owner_values(engine, flags[1]))

    def test_unused_publication_changes_nothing(self, rng: np.random.Generator) -> None:
        """A published bitmap that is not pulled keeps its values, and another array is pulled."""
        for engine, _ in self.engines():
            flags, values = random_flags(engine, rng, 0.5), random_values(engine, rng, "float32")
            words, array = upload_flags(engine, flags), engine.upload([part.copy() for part in values])
            engine.compute(_COUNT, words, 0, engine.owned, publish=words)
            engine.pull(array)
            check_values(engine, array, owner_values(engine, values))
            for own, part in zip(flags, download_flags(engine, words), strict=True):
                assert (part == own).all()

    def test_second_publication_replaces_the_first(self, rng: np.random.Generator) -> None:
        """If a second bitmap is published, a pull sends the first bitmap again."""
        for (engine, _), order in product(self.engines(), [(1, 0), (0, 1)]):
            flags = [random_flags(engine, rng, 0.5) for _ in range(2)]
            both = [upload_flags(engine, own) for own in flags]
            whole = engine.bits()
            for words in both:
                engine.compute(_COUNT, whole, 0, engine.owned, publish=words)
            for k in order:
                engine.pull(both[k])
                check_flags(engine, both[k], owner_values(engine, flags[k]))

    def test_published_bits_that_change_are_sent_again(self, rng: np.random.Generator) -> None:
        """A kernel that gets a view of a published array drops the publication."""
        for engine, _ in self.engines():
            old, new = (random_flags(engine, rng, 0.5) for _ in range(2))
            words, others = upload_flags(engine, old), upload_flags(engine, new)
            lengths = [len(part) for part in words.parts]
            engine.compute(_COUNT, words, 0, engine.owned, publish=words)
            engine.compute("bits.copy", others.first(lengths), words.first(lengths))
            engine.pull(words)
            check_flags(engine, words, owner_values(engine, new))

    def test_push_drops_a_publication(self, rng: np.random.Generator) -> None:
        """A published bitmap that is pushed is sent again by the next pull."""
        for engine, _ in self.engines():
            flags = random_flags(engine, rng, 0.3)
            words = upload_flags(engine, flags)
            engine.compute(_COUNT, words, 0, engine.owned, publish=words)
            engine.push(words, "or")
            engine.pull(words)
            check_flags(engine, words, reduce_all(engine, flags, np.logical_or, 0))

    def test_published_array_can_be_pulled_sparsely(self, rng: np.random.Generator) -> None:
        """A pull of changes after a publication updates the changed values."""
        for engine, _ in self.engines():
            values, flags = (
                random_values(engine, rng, "float32"),
                random_flags(engine, rng, 0.5, mirrors=False),
            )
            expected, changed = owner_values(engine, values), owner_values(engine, flags)
            array, words = engine.upload([part.copy() for part in values]), upload_flags(engine, flags)
            engine.compute(_COUNT, words, 0, engine.owned, publish=array)
            engine.pull(array, changed=words)
            parts = zip(
                vertex_numbers(engine), engine.download(array), download_flags(engine, words), strict=True
            )
            for where, part, flag in parts:
                assert (flag == changed[where]).all()
                assert (part[flag] == expected[where[flag]]).all()

    # ---- push ------------------------------------------------------------------------------------

    def test_push_add(self, rng: np.random.Generator) -> None:
        """Owners get the sums, and mirrors become 0."""
        for engine, dtype in self.engines():
            values = random_values(engine, rng, dtype)
            array = engine.upload([part.copy() for part in values])
            engine.push(array, "add")
            total = reduce_all(engine, values, np.add, 0)
            check_pushed(engine, array, total, [np.zeros_like(part) for part in values])
            expected = expected_bytes(engine, "mirrors", value_bytes(values[0].itemsize))
            assert bytes_sent(engine) == expected

    def test_push_min(self, rng: np.random.Generator) -> None:
        """Owners get the minima, and mirrors keep their values."""
        for engine, dtype in self.engines():
            values = random_values(engine, rng, dtype)
            array = engine.upload([part.copy() for part in values])
            engine.push(array, "min")
            check_pushed(engine, array, reduce_all(engine, values, np.minimum, 1 << 30), values)
            expected = expected_bytes(engine, "mirrors", value_bytes(values[0].itemsize))
            assert bytes_sent(engine) == expected

    def test_push_min_of_infinity(self) -> None:
        """Infinite values stay infinite."""
        for engine, _ in self.engines():
            array = engine.array("float64", np.inf)
            engine.push(array, "min")
            assert all(np.isinf(part).all() for part in engine.download(array))

    def test_push_or(self, rng: np.random.Generator) -> None:
        """Owners get the flags of their mirrors, and mirrors become clear."""
        for engine, _ in self.engines():
            flags = random_flags(engine, rng, 0.3)
            either = reduce_all(engine, flags, np.logical_or, 0)
            words = upload_flags(engine, flags)
            engine.push(words, "or")
            parts = zip(engine.partitions, vertex_numbers(engine), download_flags(engine, words), strict=True)
            for p, where, part in parts:
                assert (part[: p.owned] == either[where[: p.owned]]).all()
                assert not part[p.owned :].any()
            assert bytes_sent(engine) == expected_bytes(engine, "mirrors", bit_bytes)

    # ---- changes ---------------------------------------------------------------------------------

    def test_exchanges_of_changes(self, rng: np.random.Generator) -> None:
        """Sparse and dense packets of every verb carry the changes, and leave nothing to the next exchange.

        Dense and sparse exchanges alternate, because routes keep buffers of both kinds.
        """
        for engine, _ in self.engines():
            for share in (1.0, 0.02, 0.5, 0.0, 0.02, 1.0, 0.0):
                for check in (check_changed_pull, check_changed_add, check_changed_min, check_changed_set):
                    engine.superstep("exchange")
                    check(engine, rng, share)

    def test_exchanges_are_deterministic(self) -> None:
        """An exchange does not depend on which thread or copy is faster."""
        engine = self.engine(3001)
        rng = np.random.default_rng(2)
        values, flags = random_values(engine, rng, "uint32"), random_flags(engine, rng, 0.5)
        total = reduce_all(engine, values, np.add, 0)
        either = reduce_all(engine, flags, np.logical_or, 0)
        array, words = engine.upload(values), upload_flags(engine, flags)
        every = upload_flags(engine, [np.ones(len(where), bool) for where in vertex_numbers(engine)])
        for _ in range(self.repetitions):
            sums, marks = engine.copy(array), engine.copy(words)
            engine.push(sums, "add", changed=engine.copy(every))
            engine.push(marks, "or")
            engine.pull(sums)
            engine.pull(marks)
            check_values(engine, sums, total)
            check_flags(engine, marks, either)


# ---- checks ----------------------------------------------------------------------------------------


def check_values(engine: Engine, array: PartitionedArray, expected: NDArray[np.generic]) -> None:
    """Compare all owned values and mirrors with a value for each vertex of the graph."""
    for where, part in zip(vertex_numbers(engine), engine.download(array), strict=True):
        assert (part == expected[where]).all()


def check_flags(engine: Engine, words: PartitionedArray, expected: NDArray[np.generic]) -> None:
    """Compare all flags with a flag for each vertex of the graph."""
    for where, part in zip(vertex_numbers(engine), download_flags(engine, words), strict=True):
        assert (part == expected[where]).all()


def check_pushed(
    engine: Engine, array: PartitionedArray, owned: NDArray[np.generic], rest: list[NDArray[np.generic]]
) -> None:
    """Compare owned values with a value for each vertex of the graph, and mirrors with `rest`."""
    parts = zip(engine.partitions, vertex_numbers(engine), engine.download(array), rest, strict=True)
    for p, where, part, own in parts:
        assert (part[: p.owned] == owned[where[: p.owned]]).all()
        assert (part[p.owned :] == own[p.owned :]).all()


def check_push_flags(
    engine: Engine, words: PartitionedArray, flags: list[NDArray[np.bool_]], raised: list[NDArray[np.bool_]]
) -> None:
    """Compare flags of owned vertices with `flags` and `raised`; flags of mirrors must be clear."""
    parts = zip(engine.partitions, download_flags(engine, words), flags, raised, strict=True)
    for p, found, before, more in parts:
        assert (found[: p.owned] == (before[: p.owned] | more)).all()
        assert not found[p.owned :].any()


def check_changed_pull(engine: Engine, rng: np.random.Generator, share: float) -> None:
    """Pull changes: changed vertices get new values and flags on all mirrors."""
    values, flags = random_values(engine, rng, "float32"), random_flags(engine, rng, share, mirrors=False)
    expected, changed = owner_values(engine, values), owner_values(engine, flags)
    array, words = engine.upload([part.copy() for part in values]), upload_flags(engine, flags)
    engine.pull(array, changed=words)
    vertices = vertex_numbers(engine)
    check_flags(engine, words, changed)
    for where, part, old in zip(vertices, engine.download(array), values, strict=True):
        assert (part == np.where(changed[where], expected[where], old)).all()
    sent = mirror_flags(engine, [changed[where] for where in vertices])
    assert bytes_sent(engine) == expected_bytes(engine, "owner", changed_bytes(4, sent))


def check_changed_add(engine: Engine, rng: np.random.Generator, share: float) -> None:
    """Push changes by "add"; mirrors without a flag are 0."""
    values, flags = random_values(engine, rng, "float64"), random_flags(engine, rng, share)
    for p, part, flag in zip(engine.partitions, values, flags, strict=True):
        part[p.owned :][~flag[p.owned :]] = 0
    total = reduce_all(engine, values, np.add, 0)
    either = reduce_all(engine, flags, np.logical_or, 0)
    array, words = engine.upload([part.copy() for part in values]), upload_flags(engine, flags)
    engine.push(array, "add", changed=words)
    check_pushed(engine, array, total, [np.zeros_like(part) for part in values])
    owned = zip(engine.partitions, vertex_numbers(engine), strict=True)
    check_push_flags(engine, words, flags, [either[where[: p.owned]].astype(bool) for p, where in owned])
    expected = expected_bytes(engine, "mirrors", changed_bytes(8, mirror_flags(engine, flags)))
    assert bytes_sent(engine) == expected


def check_changed_min(engine: Engine, rng: np.random.Generator, share: float) -> None:
    """Push changes by "min"; mirrors without a flag have large values."""
    values, flags = random_values(engine, rng, "uint32"), random_flags(engine, rng, share)
    for p, part, flag in zip(engine.partitions, values, flags, strict=True):
        part[p.owned :][~flag[p.owned :]] = 1 << 30
    least = reduce_all(engine, values, np.minimum, 1 << 30)
    array, words = engine.upload([part.copy() for part in values]), upload_flags(engine, flags)
    engine.push(array, "min", changed=words)
    check_pushed(engine, array, least, values)
    owned = zip(engine.partitions, vertex_numbers(engine), values, strict=True)
    lowered = [least[where[: p.owned]] < old[: p.owned] for p, where, old in owned]
    check_push_flags(engine, words, flags, lowered)
    expected = expected_bytes(engine, "mirrors", changed_bytes(4, mirror_flags(engine, flags)))
    assert bytes_sent(engine) == expected


def check_changed_set(engine: Engine, rng: np.random.Generator, share: float) -> None:
    """Push changes by "set"; all mirrors of a vertex have the same value."""
    values, flags = random_values(engine, rng, "uint32"), random_flags(engine, rng, share)
    vertices = vertex_numbers(engine)
    received = np.zeros(sum(p.owned for p in engine.partitions), bool)
    for p, where, part, flag in zip(engine.partitions, vertices, values, flags, strict=True):
        part[p.owned :] = np.where(flag[p.owned :], 7 * where[p.owned :], 1)
        received[where[p.owned :][flag[p.owned :]]] = True
    numbers = np.arange(len(received), dtype=np.uint32)
    expected = np.where(received, 7 * numbers, owner_values(engine, values))
    array, words = engine.upload([part.copy() for part in values]), upload_flags(engine, flags)
    engine.push(array, "set", changed=words)
    check_pushed(engine, array, expected, values)
    owned = zip(engine.partitions, vertices, strict=True)
    check_push_flags(engine, words, flags, [received[where[: p.owned]] for p, where in owned])
    sent = expected_bytes(engine, "mirrors", changed_bytes(4, mirror_flags(engine, flags)))
    assert bytes_sent(engine) == sent
