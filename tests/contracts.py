"""What every element and every transport must do: a new one inherits these tests and adds only itself."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from evener.elements.crew import call_all
from evener.engine import Engine, Spread
from evener.graph import Graph
from evener.partition import partition


class ElementContract:
    """Subclasses give `make(name)`, which returns an element of the kind, and its `name`."""

    name: str

    def make(self, name):
        raise NotImplementedError

    @pytest.fixture
    def element(self):
        return self.make(self.name)

    def test_says_what_it_is(self, element):
        assert element.name == self.name
        assert element.kind == self.name.partition(":")[0]
        assert element.threads >= 1

    @pytest.mark.parametrize("dtype", ["uint8", "int32", "uint32", "uint64", "float32", "float64"])
    @pytest.mark.parametrize("fill", [0, 1])
    @pytest.mark.parametrize("length", [0, 1, 65])
    def test_makes_filled_arrays(self, element, dtype, fill, length):
        array = element.array(length, dtype, fill)
        assert array.dtype == dtype
        assert array.shape == (length,)
        assert (array == fill).all()

    @pytest.mark.parametrize(("dtype", "fill"), [("float64", np.inf), ("int32", -1), ("uint32", 2**32 - 1)])
    def test_fills_with_the_marks_algorithms_use(self, element, dtype, fill):
        array = element.array(3, dtype, fill)
        assert array.tolist() == [fill] * 3

    def test_makes_arrays_left_as_they_come(self, element):
        array = element.array(7, "uint32")
        assert array.dtype == np.uint32
        assert array.shape == (7,)
        array[:] = 5
        assert array.tolist() == [5] * 7

    def test_gives_each_array_memory_of_its_own(self, element):
        first, second = element.array(4, "int32", 0), element.array(4, "int32", 0)
        first[:] = 1
        assert second.tolist() == [0] * 4

    def test_finds_a_kernel_by_file_and_function(self, element):
        flags = element.array(2, "uint64", 0)
        flags[1] = 0b101
        count = element.call(element.kernel("bits.count_range"), flags, 0, 128)
        assert count == 2
        assert element.kernel("bits.count_range") is element.kernel("bits.count_range")

    @pytest.mark.parametrize("name", ["bits.no_such_kernel", "no_such_file.count_range"])
    def test_has_no_kernel_of_another_name(self, element, name):
        with pytest.raises((AttributeError, ImportError), match="no_such"):
            element.kernel(name)

    def test_calls_with_arguments_and_gives_the_answer(self, element):
        assert element.call(divmod, 17, 5) == (3, 2)

    def test_passes_an_error_on_and_stays_usable(self, element):
        with pytest.raises(ZeroDivisionError):
            element.call(divmod, 1, 0)
        assert element.call(divmod, 7, 2) == (3, 1)

    def test_works_beside_another_element(self, element):
        meeting = threading.Barrier(2)
        calls = [(e, meeting.wait, (60,)) for e in (element, self.make(self.name))]
        assert sorted(call_all(calls, helpers=1)) == [0, 1]


class TransportContract:
    """Subclasses say in `on` which elements to place a graph on: every route between them is the transport's.

    The twin of each exchange goes by the graph's vertex numbers, so it knows nothing of routes and positions.
    """

    on: tuple[str, ...]

    def engine(self, graph, policy="random", seed=0):
        engine = Engine(partition(graph, self.on, policy=policy, seed=seed), "contract")
        engine.superstep("exchange")
        return engine

    @pytest.fixture(params=[3, 64, 65, 300, 2000], ids="n={}".format)
    def graph(self, request):
        n = request.param
        ends = np.random.default_rng(n).integers(0, n, (2, 4 * n))
        return Graph.from_edges(*ends, directed=n % 2 == 0, n=n)

    @pytest.fixture
    def rng(self):
        return np.random.default_rng(7)

    def test_routes_lead_from_each_mirror_to_its_vertex(self, graph):
        engine = self.engine(graph)
        reached = [np.zeros(p.mirrors, int) for p in engine.partitions]
        for route in engine.routes:
            holder, owner = engine.partitions[route.holder], engine.partitions[route.owner]
            here = slice(route.begin, route.begin + len(route))
            assert (np.diff(route.index.astype(int)) > 0).all()
            assert (route.index < owner.owned).all()
            assert (holder.vertices[here] == owner.vertices[route.index]).all()
            reached[route.holder][route.begin - holder.owned : here.stop - holder.owned] += 1
        assert all((count == 1).all() for count in reached)

    @pytest.mark.parametrize("dtype", ["uint32", "float32", "float64"])
    def test_pull_copies_owners_to_mirrors(self, graph, rng, dtype):
        engine = self.engine(graph)
        array = drawn(engine, rng, dtype)
        truth = owners_values(engine, array.parts)
        engine.pull(array)
        for p, part in zip(engine.partitions, array.parts, strict=True):
            assert (part == truth[p.vertices]).all()
        assert sent(engine) == bytes_sent_by("owner", engine, values_cost(array.parts[0].itemsize))

    def test_pull_of_bits_copies_set_and_clear(self, graph, rng):
        engine = self.engine(graph)
        flags = drawn_flags(engine, rng, 0.5)
        truth = owners_values(engine, unpacked(engine, flags))
        engine.pull(flags)
        for p, part in zip(engine.partitions, unpacked(engine, flags), strict=True):
            assert (part == truth[p.vertices]).all()
        assert sent(engine) == bytes_sent_by("owner", engine, bits_cost)

    @pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 1.0])
    def test_pull_of_changes_takes_the_flagged_alone(self, graph, rng, share):
        engine = self.engine(graph)
        array, flags = drawn(engine, rng, "float32"), drawn_flags(engine, rng, share, mirrors=False)
        before = [part.copy() for part in array.parts]
        truth = owners_values(engine, before)
        changed = owners_values(engine, unpacked(engine, flags))
        engine.pull(array, changed=flags)
        for p, part, old, flag in zip(
            engine.partitions, array.parts, before, unpacked(engine, flags), strict=True
        ):
            assert (flag == changed[p.vertices]).all()
            assert (part == np.where(changed[p.vertices], truth[p.vertices], old)).all()
        travelling = [changed[p.vertices[p.owned :]] for p in engine.partitions]
        assert sent(engine) == bytes_sent_by("owner", engine, changes_cost(4, travelling))

    @pytest.mark.parametrize("dtype", ["uint32", "float32", "float64"])
    def test_push_add_empties_mirrors_into_owners(self, graph, rng, dtype):
        engine = self.engine(graph)
        array = drawn(engine, rng, dtype)
        total = everywhere(engine, array.parts, np.add, 0)
        engine.push(array, "add")
        for p, part in zip(engine.partitions, array.parts, strict=True):
            assert (part[: p.owned] == total[p.vertices[: p.owned]]).all()
            assert (part[p.owned :] == 0).all()
        assert sent(engine) == bytes_sent_by("holder", engine, values_cost(array.parts[0].itemsize))

    @pytest.mark.parametrize("dtype", ["uint32", "float32", "float64"])
    def test_push_min_lowers_owners_and_leaves_mirrors(self, graph, rng, dtype):
        engine = self.engine(graph)
        array = drawn(engine, rng, dtype)
        before = [part.copy() for part in array.parts]
        least = everywhere(engine, array.parts, np.minimum, 1 << 30)
        engine.push(array, "min")
        for p, part, old in zip(engine.partitions, array.parts, before, strict=True):
            assert (part[: p.owned] == least[p.vertices[: p.owned]]).all()
            assert (part[p.owned :] == old[p.owned :]).all()
        assert sent(engine) == bytes_sent_by("holder", engine, values_cost(array.parts[0].itemsize))

    def test_push_min_takes_infinity(self, graph):
        engine = self.engine(graph)
        array = engine.array("float64", np.inf)
        engine.push(array, "min")
        assert all(np.isinf(part).all() for part in array.parts)

    def test_push_or_moves_mirrors_flags_to_owners(self, graph, rng):
        engine = self.engine(graph)
        flags = drawn_flags(engine, rng, 0.3)
        either = everywhere(engine, unpacked(engine, flags), np.logical_or, 0)
        engine.push(flags, "or")
        for p, part in zip(engine.partitions, unpacked(engine, flags), strict=True):
            assert (part[: p.owned] == either[p.vertices[: p.owned]]).all()
            assert not part[p.owned :].any()
        assert sent(engine) == bytes_sent_by("holder", engine, bits_cost)

    @pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 1.0])
    def test_push_add_of_changes(self, graph, rng, share):
        engine = self.engine(graph)
        array, flags = drawn(engine, rng, "float64"), drawn_flags(engine, rng, share)
        flagged = unpacked(engine, flags)
        for p, part, flag in zip(engine.partitions, array.parts, flagged, strict=True):
            part[p.owned :][~flag[p.owned :]] = 0  # what is not flagged has not changed: it adds nothing
        total = everywhere(engine, array.parts, np.add, 0)
        either = everywhere(engine, flagged, np.logical_or, 0)
        engine.push(array, "add", changed=flags)
        for p, part, flag in zip(engine.partitions, array.parts, unpacked(engine, flags), strict=True):
            assert (part[: p.owned] == total[p.vertices[: p.owned]]).all()
            assert (part[p.owned :] == 0).all()
            assert (flag[: p.owned] == either[p.vertices[: p.owned]]).all()
            assert not flag[p.owned :].any()
        travelling = [flag[p.owned :] for p, flag in zip(engine.partitions, flagged, strict=True)]
        assert sent(engine) == bytes_sent_by("holder", engine, changes_cost(8, travelling))

    @pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 1.0])
    def test_push_min_of_changes(self, graph, rng, share):
        engine = self.engine(graph)
        array, flags = drawn(engine, rng, "uint32"), drawn_flags(engine, rng, share)
        before, flagged = [part.copy() for part in array.parts], unpacked(engine, flags)
        for p, part, flag in zip(engine.partitions, array.parts, flagged, strict=True):
            part[p.owned :][~flag[p.owned :]] = (
                1 << 30
            )  # what is not flagged has not changed: it lowers nothing
        least = everywhere(engine, array.parts, np.minimum, 1 << 30)
        engine.push(array, "min", changed=flags)
        for p, part, flag, old, flag_before in zip(
            engine.partitions, array.parts, unpacked(engine, flags), before, flagged, strict=True
        ):
            owned = p.vertices[: p.owned]
            lowered = least[owned] < old[: p.owned]
            assert (part[: p.owned] == least[owned]).all()
            assert (flag[: p.owned] == (flag_before[: p.owned] | lowered)).all()
            assert not flag[p.owned :].any()
        travelling = [flag[p.owned :] for p, flag in zip(engine.partitions, flagged, strict=True)]
        assert sent(engine) == bytes_sent_by("holder", engine, changes_cost(4, travelling))

    @pytest.mark.parametrize("share", [0.02, 0.5, 1.0])
    def test_push_set_overwrites_with_the_flagged_alone(self, graph, rng, share):
        engine = self.engine(graph)
        array, flags = drawn(engine, rng, "uint32"), drawn_flags(engine, rng, share)
        flagged = unpacked(engine, flags)
        told = np.zeros(graph.n, bool)
        for p, part, flag in zip(engine.partitions, array.parts, flagged, strict=True):
            part[p.owned :] = np.where(flag[p.owned :], 7 * p.vertices[p.owned :], 1)  # holders agree
            told[p.vertices[p.owned :][flag[p.owned :]]] = True
        before = [part.copy() for part in array.parts]
        engine.push(array, "set", changed=flags)
        for p, part, flag, old, flag_before in zip(
            engine.partitions, array.parts, unpacked(engine, flags), before, flagged, strict=True
        ):
            owned = p.vertices[: p.owned]
            assert (part[: p.owned] == np.where(told[owned], 7 * owned, old[: p.owned])).all()
            assert (part[p.owned :] == old[p.owned :]).all()
            assert (flag[: p.owned] == (flag_before[: p.owned] | told[owned])).all()
            assert not flag[p.owned :].any()
        travelling = [flag[p.owned :] for p, flag in zip(engine.partitions, flagged, strict=True)]
        assert sent(engine) == bytes_sent_by("holder", engine, changes_cost(4, travelling))

    def test_an_exchange_gives_the_same_every_time(self):
        ends = np.random.default_rng(1).integers(0, 3000, (2, 20_000))
        engine = self.engine(Graph.from_edges(*ends, directed=False, n=3000))
        rng = np.random.default_rng(2)
        array, flags = drawn(engine, rng, "uint32"), drawn_flags(engine, rng, 0.5)
        total = everywhere(engine, array.parts, np.add, 0)
        either = everywhere(engine, unpacked(engine, flags), np.logical_or, 0)
        for _ in range(100):
            values, marks = engine.copy(array), engine.copy(flags)
            engine.push(values, "add", changed=engine.copy(all_flagged(engine)))
            engine.push(marks, "or")
            engine.pull(values)
            engine.pull(marks)
            for p, part, mark in zip(engine.partitions, values.parts, unpacked(engine, marks), strict=True):
                assert (part == total[p.vertices]).all()
                assert (mark == either[p.vertices]).all()


def drawn(engine, rng, dtype):
    """Small whole numbers, so that sums are exact in any order."""
    return Spread([rng.integers(0, 1000, len(p.vertices)).astype(dtype) for p in engine.partitions])


def drawn_flags(engine, rng, share, *, mirrors=True):
    flags = engine.bits()
    for p, words in zip(engine.partitions, flags.parts, strict=True):
        drawn = rng.random(len(p.vertices)) < share
        drawn[p.owned :] &= mirrors
        words[:] = packed(drawn)
    return flags


def all_flagged(engine):
    flags = engine.bits()
    for p, words in zip(engine.partitions, flags.parts, strict=True):
        words[:] = packed(np.ones(len(p.vertices), bool))
    return flags


def packed(flags):
    """One bit a vertex, the lowest bit of the first word first."""
    bits = np.zeros((len(flags) + 63) // 64 * 64, bool)
    bits[: len(flags)] = flags
    return np.packbits(bits, bitorder="little").view("<u8").astype(np.uint64)


def unpack(words, length):
    return np.unpackbits(words.astype("<u8").view(np.uint8), bitorder="little")[:length].astype(bool)


def unpacked(engine, flags):
    return [unpack(w, len(p.vertices)) for p, w in zip(engine.partitions, flags.parts, strict=True)]


def owners_values(engine, parts):
    """The owner's value of every vertex of the graph."""
    values = np.zeros(sum(p.owned for p in engine.partitions), parts[0].dtype)
    for p, part in zip(engine.partitions, parts, strict=True):
        values[p.vertices[: p.owned]] = part[: p.owned]
    return values


def everywhere(engine, parts, reduce, start):
    """The values that owner and mirrors have of every vertex of the graph, reduced."""
    dtype = parts[0].dtype
    values = np.full(sum(p.owned for p in engine.partitions), start).astype(dtype)
    for p, part in zip(engine.partitions, parts, strict=True):
        reduce.at(values, p.vertices, part)
    return values


def sent(engine):
    """Bytes that each element sent."""
    return [span.bytes_sent for span in engine.timeline.spans]


def bytes_sent_by(sender, engine, cost):
    """Bytes that each element is to send, by hand: ``cost(route)`` gets the mirrors of one holder and owner.

    They come as one boolean for each mirror of the holder. `sender` is "holder" or "owner".
    """
    owner_of = np.empty(sum(p.owned for p in engine.partitions), int)
    for q, p in enumerate(engine.partitions):
        owner_of[p.vertices[: p.owned]] = q
    count = [0] * len(engine.partitions)
    for holder, p in enumerate(engine.partitions):
        owners = owner_of[p.vertices[p.owned :]]
        for owner in np.unique(owners).tolist():
            count[holder if sender == "holder" else owner] += cost(holder, owners == owner)
    return count


def values_cost(itemsize):
    return lambda holder, mirrors: int(mirrors.sum()) * itemsize  # noqa: ARG005 - a cost's signature


def bits_cost(holder, mirrors):  # noqa: ARG001 - a cost's signature
    return (int(mirrors.sum()) + 7) // 8


def changes_cost(itemsize, travelling):
    """The fewer of positions and values of what changed, and everything with a bit each."""

    def cost(holder, mirrors):
        sparse = int((mirrors & travelling[holder]).sum()) * (4 + itemsize)
        return min(sparse, int(mirrors.sum()) * itemsize + bits_cost(holder, mirrors))

    return cost
