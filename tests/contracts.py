"""What every element and every transport must do: a new one inherits these tests and adds only itself.

Arrays are made by `upload` and read by `download`, because the host may not reach an element's own.
"""

from __future__ import annotations

import threading
import time
from itertools import pairwise, product

import numpy as np
import pytest

from evener.engine.engine import Engine, PartitionedArray
from evener.engine.exchange.encoding import Encoding, Packet
from evener.engine.exchange.exchange import Exchange
from evener.engine.exchange.transport import connect
from evener.engine.executor import run_all, run_steps
from evener.errors import ArgumentError
from evener.graph.graph import Graph
from evener.partition.place import partition
from evener.partition.route import Route, place
from sanitized import CLOCKS, RUNS

DTYPES = ["uint8", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64"]


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
        assert element.weight > 0
        hash(element.memory)

    # ---- memory ---------------------------------------------------------------------------------

    def test_makes_filled_arrays(self, element):
        dtypes = ("uint8", "int32", "uint32", "uint64", "float32", "float64")
        for dtype, fill, length in product(dtypes, (0, 1), (0, 1, 65)):
            array = element.allocate(length, dtype, fill)
            assert array.dtype == dtype
            assert array.shape == (length,)
            assert (element.download(array) == fill).all()

    def test_fills_with_the_marks_algorithms_use(self, element):
        marks = [("float64", np.inf), ("float64", 1.5), ("int32", -1), ("uint32", 2**32 - 1), ("uint32", 7)]
        for dtype, fill in marks:
            assert element.download(element.allocate(3, dtype, fill)).tolist() == [fill] * 3

    def test_makes_arrays_left_as_they_come(self, element):
        array = element.allocate(7, "uint32")
        assert array.dtype == np.uint32
        assert array.shape == (7,)
        element.run(array.fill, 5)
        assert element.download(array).tolist() == [5] * 7

    def test_makes_several_arrays_of_zeros(self, element):
        for length in (0, 1, 16, 65):
            arrays = element.zeros(3, length)
            assert [(array.dtype, array.shape) for array in arrays] == 3 * [("uint64", (length,))]
            assert not any(element.download(array).any() for array in arrays)
            for k, array in enumerate(arrays):
                element.run(array.__setitem__, slice(None), k + 1)
            assert [element.download(array).tolist() for array in arrays] == [[k] * length for k in (1, 2, 3)]

    def test_gives_each_array_memory_of_its_own(self, element):
        first, second = element.allocate(4, "int32", 0), element.allocate(4, "int32", 0)
        element.run(first.fill, 1)
        assert element.download(first).tolist() == [1] * 4
        assert element.download(second).tolist() == [0] * 4

    def test_gives_back_what_it_holds(self, element):
        for dtype, length in product(DTYPES, (0, 1, 65, 100_000)):
            values = np.random.default_rng(length).integers(0, 100, length).astype(dtype)
            expected = values.copy()
            held = element.upload(values)
            assert held.dtype == dtype
            assert held.shape == (length,)
            fetched = element.download(held)
            assert type(fetched) is np.ndarray
            assert fetched.dtype == dtype
            assert (fetched == expected).all()

    def test_holds_what_may_not_be_written_and_what_has_gaps(self, element):
        values = np.arange(20, dtype=np.uint32)
        values.flags.writeable = False
        assert element.download(element.upload(values)).tolist() == list(range(20))
        assert element.download(element.upload(values[1::3])).tolist() == [1, 4, 7, 10, 13, 16, 19]

    def test_holds_edges_some_of_which_may_stay_with_the_host(self, element):
        for dtype, far in product(("uint8", "uint32", "float64"), (0, 32, 96)):
            values = np.arange(96).astype(dtype)
            edges = element.allocate_edges(96, values.dtype, far)
            for begin in range(0, 96, 20):
                opened = element.begin_write(edges, begin, min(begin + 20, 96))
                opened[:] = values[begin : begin + 20]
                element.end_write(edges, begin, opened)
                opened = None
            assert len(edges) == 96
            assert edges.dtype == dtype
            assert edges.nbytes == values.nbytes
            parts = (
                [edges.host_part, element.download(edges.device_part)]
                if hasattr(edges, "host_part")
                else [element.download(edges)]
            )
            assert np.concatenate(parts).tolist() == values.tolist()
            again = edges.view(f"u{edges.itemsize}")
            assert len(again) == 96
            assert again.dtype == f"u{values.itemsize}"

    def test_arrays_have_columns_where_they_are_wanted(self, element):
        for rows in (0, 3):
            pairs = element.allocate(2 * rows, "uint32", 4).reshape(-1, 2)
            assert element.download(pairs).tolist() == [[4, 4]] * rows

    def test_copies_and_slices_of_arrays(self, element):
        held = element.upload(np.arange(10, dtype=np.float64))
        copy = element.run(held.copy)
        element.run(held.fill, 0)
        assert element.download(copy).tolist() == list(range(10))
        assert element.download(copy[3:6]).tolist() == [3, 4, 5]

    def test_says_what_room_there_is(self, element):
        whole, beside = element.room(), element.room_after(1000)
        assert (whole is None) == (beside is None)
        assert whole is None or min(whole, beside) > 0
        assert element.table_columns >= 0
        assert element.table_columns % 1024 == 0

    def test_takes_what_another_of_its_kind_holds(self, element):
        other = self.make(self.name)
        for dtype in ("uint32", "uint64"):
            values = np.arange(1, 1001).astype(dtype)
            source, target = other.upload(values.copy()), element.allocate(1000, dtype, 0, travels=True)
            element.begin_round()
            if element.memory == other.memory:
                element.run(target.__setitem__, slice(None), source)
            else:
                send(other, element, source, target).receive()
            assert (element.download(target) == values).all()
            assert (other.download(source) == values).all()

    # ---- kernels --------------------------------------------------------------------------------

    def test_finds_a_kernel_by_file_and_function(self, element):
        flags = element.upload(np.array([0, 0b101], np.uint64))
        vote = element.run(element.kernel("bits.count_range"), flags, 0, 128)
        assert element.result(vote) == 2
        assert element.kernel("bits.count_range") is element.kernel("bits.count_range")

    def test_has_no_kernel_of_another_name(self, element):
        for name in ("bits.no_such_kernel", "no_such_file.count_range"):
            with pytest.raises(ArgumentError, match=f'Evener has no kernel "{name}" for a '):
                element.kernel(name)

    def test_counts_right(self, element):
        bits = np.random.default_rng(4).random(1 << 20) < 0.3
        words = element.upload(packed(bits))
        kernel = element.kernel("bits.count_range")
        for begin, end in [
            (0, 1 << 20),
            (1, (1 << 20) - 1),
            (63, 65),
            (64, 64),
            (31, 33),
            (500_000, 700_001),
        ]:
            assert element.result(element.run(kernel, words, begin, end)) == bits[begin:end].sum()

    def test_each_vote_is_that_of_its_call(self, element):
        words = element.upload(packed(np.ones(640, bool)))
        kernel = element.kernel("bits.count_range")
        for _ in range(20):
            votes = [element.run(kernel, words, 0, 64 * k) for k in range(1, 6)]
            assert [element.result(vote) for vote in votes] == [64, 128, 192, 256, 320]
            assert int(element.run(kernel, words, 10, 20)) == 10

    def test_a_number_needs_no_reading(self, element):
        assert element.result(5) == 5
        assert element.result((1, 2.5)) == (1, 2.5)
        assert element.result(None) is None

    def test_kernels_follow_one_another(self, element):
        """Each sees what the one before it wrote."""
        words = packed(np.random.default_rng(6).random(10_000) < 0.5)
        arrays = [element.upload(words.copy())] + [
            element.allocate(len(words), "uint64", 0) for _ in range(5)
        ]
        for source, target in pairwise(arrays):
            element.run(element.kernel("bits.copy"), source, target)
        element.wait()
        assert (element.download(arrays[-1]) == words).all()

    def test_can_be_made_ready_for_more_edges_at_any_time(self, element):
        for edges in (0, 10, 1 << 20, 10):
            element.prepare_workspace(edges)
        assert element.download(element.allocate(2, "uint8", 3)).tolist() == [3, 3]

    # ---- calls ----------------------------------------------------------------------------------

    def test_calls_with_arguments_and_gives_the_answer(self, element):
        assert element.run(divmod, 17, 5) == (3, 2)

    def test_passes_an_error_on_and_stays_usable(self, element):
        with pytest.raises(ZeroDivisionError):
            element.run(divmod, 1, 0)
        assert element.run(divmod, 7, 2) == (3, 1)

    # ---- time -----------------------------------------------------------------------------------

    @pytest.mark.parametrize("concurrent", [False, True])
    def test_marks_are_times_by_the_hosts_clock(self, element, concurrent):
        words, copy = element.allocate(1000, "uint64", 0), element.allocate(1000, "uint64", 0)
        element.run(element.kernel("bits.copy"), words, copy)  # compiled before the clock runs
        element.wait()
        element.begin_timing(concurrent=concurrent)
        for _ in range(2):
            began = time.perf_counter()
            marks = [element.mark()]
            time.sleep(0.05)
            marks.append(element.mark())
            element.run(element.kernel("bits.copy"), words, copy)
            marks.append(element.mark())
            times = element.times(marks)
            ended = time.perf_counter()
            assert times == sorted(times)
            assert times[1] - times[0] >= 0.05 - CLOCKS
            assert began - CLOCKS <= times[0]
            assert times[-1] <= ended + CLOCKS


class ThreadedElementContract(ElementContract):
    """For elements whose calls return when the work is done, each on a thread of its own."""

    def test_works_beside_another_element(self, element):
        assert not element.deferred
        meeting = threading.Barrier(2)
        calls = [(e, meeting.wait, (60,)) for e in (element, self.make(self.name))]
        assert sorted(run_all(calls, workers=1)) == [0, 1]


class TransportContract:
    """Test one transport: subclasses name in `on` the elements whose routes all use this transport.

    Expected values are computed by the graph's vertex numbers, so they do not depend on routes and positions.

    Kernel tests already cover every alignment and value type. These tests show what no kernel test shows:
    the transport calls the right kernel with the right slice, and each message reaches its owner or mirrors.
    Each test therefore runs on three graphs: partitions without vertices or mirrors, mirrors that share a
    word, and mirrors in many words. Each graph takes another value type, in place of all combinations.
    """

    on: tuple[str, ...]

    def engine(self, n, policy="random", seed=0):
        """Return an engine on a graph of n vertices and 4 n edges."""
        ends = np.random.default_rng(n).integers(0, n, (2, 4 * n))
        graph = Graph.from_edges(*ends, directed=n % 2 == 0, n=n)
        # As many edges for each, whatever the elements count for.
        alpha = 1 / len(self.on) if len(set(self.on)) == 1 else 0.5
        engine = Engine(partition(graph, self.on, policy=policy, alpha=alpha, seed=seed), "contract")
        engine.superstep("exchange")
        return engine

    def engines(self):
        """Yield an engine for each graph, with the value type to test there."""
        for n, dtype in ((3, "uint32"), (65, "float32"), (2000, "float64")):
            yield self.engine(n), dtype

    @pytest.fixture
    def rng(self):
        return np.random.default_rng(7)

    def test_routes_lead_from_each_mirror_to_its_vertex(self):
        for engine, _ in self.engines():
            vertices = vertices_of(engine)
            reached = [np.zeros(p.mirrors, int) for p in engine.partitions]
            for route in engine.routes:
                holder, owner = engine.partitions[route.holder], engine.partitions[route.owner]
                index = engine.elements[route.owner].download(route.index)
                here = slice(route.begin, route.begin + len(route))
                assert (np.diff(index.astype(int)) > 0).all()
                assert (index < owner.owned).all()
                assert (vertices[route.holder][here] == vertices[route.owner][index]).all()
                reached[route.holder][route.begin - holder.owned : here.stop - holder.owned] += 1
            assert all((count == 1).all() for count in reached)

    def test_pull_copies_owners_to_mirrors(self, rng):
        for engine, dtype in self.engines():
            values = drawn(engine, rng, dtype)
            truth = owners_values(engine, values)
            array = held(engine, values)
            engine.pull(array)
            for where, part in zip(vertices_of(engine), engine.download(array), strict=True):
                assert (part == truth[where]).all()
            assert sent(engine) == bytes_sent_by("owner", engine, values_cost(values[0].itemsize))

    def test_pull_of_bits_copies_set_and_clear(self, rng):
        for engine, _ in self.engines():
            flags = drawn_flags(engine, rng, 0.5)
            truth = owners_values(engine, flags)
            words = held_flags(engine, flags)
            engine.pull(words)
            for where, part in zip(vertices_of(engine), fetched_flags(engine, words), strict=True):
                assert (part == truth[where]).all()
            assert sent(engine) == bytes_sent_by("owner", engine, bits_cost)

    def test_what_is_posted_arrives_as_it_was(self, rng):
        """Many rounds: each posts an array before what the one before it posted is taken."""
        for engine, dtype in self.engines():
            here = vertices_of(engine)
            arrays = [held(engine, drawn(engine, rng, dtype)) for _ in range(2)]
            truths = [owners_values(engine, engine.download(array)) for array in arrays]
            whole = engine.bits()
            engine.compute("bits.count_range", whole, 0, engine.owned, publish=arrays[0])
            for k in range(6):
                now, then = k % 2, (k + 1) % 2
                engine.compute(
                    "bits.count_range", whole, 0, engine.owned, pull_before=arrays[now], publish=arrays[then]
                )
                for where, part in zip(here, engine.download(arrays[now]), strict=True):
                    assert (part == truths[now][where]).all()

    def test_posted_bits_arrive_though_others_follow(self, rng):
        for engine, _ in self.engines():
            flags = [drawn_flags(engine, rng, 0.5) for _ in range(2)]
            truths = [owners_values(engine, own) for own in flags]
            one, two = (held_flags(engine, own) for own in flags)
            engine.compute("bits.count_range", one, 0, engine.owned, publish=one)
            engine.compute("bits.count_range", one, 0, engine.owned, pull_before=one, publish=two)
            engine.pull(two)
            for words, truth in zip((one, two), truths, strict=True):
                for where, part in zip(vertices_of(engine), fetched_flags(engine, words), strict=True):
                    assert (part == truth[where]).all()

    def test_what_is_posted_in_vain_disturbs_nothing(self, rng):
        for engine, _ in self.engines():
            flags, values = drawn_flags(engine, rng, 0.5), drawn(engine, rng, "float32")
            truth = owners_values(engine, values)
            words, array = held_flags(engine, flags), held(engine, values)
            engine.compute("bits.count_range", words, 0, engine.owned, publish=words)
            engine.pull(array)
            for where, part in zip(vertices_of(engine), engine.download(array), strict=True):
                assert (part == truth[where]).all()
            for own, part in zip(flags, fetched_flags(engine, words), strict=True):
                assert (part == own).all()

    def test_of_two_that_are_posted_the_later_counts(self, rng):
        """Neither is given to a kernel in between; the earlier is sent again where it is pulled."""
        for (engine, _), order in product(self.engines(), [(1, 0), (0, 1)]):
            flags = [drawn_flags(engine, rng, 0.5) for _ in range(2)]
            truths = [owners_values(engine, own) for own in flags]
            both = [held_flags(engine, own) for own in flags]
            whole = engine.bits()
            for words in both:
                engine.compute("bits.count_range", whole, 0, engine.owned, publish=words)
            for k in order:
                engine.pull(both[k])
                for where, part in zip(vertices_of(engine), fetched_flags(engine, both[k]), strict=True):
                    assert (part == truths[k][where]).all()

    def test_what_is_posted_and_changed_is_sent_as_it_is_now(self, rng):
        """Whether it is given whole or in part."""
        for engine, _ in self.engines():
            old, new = (drawn_flags(engine, rng, 0.5) for _ in range(2))
            truth = owners_values(engine, new)
            words, others = held_flags(engine, old), held_flags(engine, new)
            lengths = [len(part) for part in words.parts]
            engine.compute("bits.count_range", words, 0, engine.owned, publish=words)
            engine.compute("bits.copy", others.first(lengths), words.first(lengths))
            engine.pull(words)
            for where, part in zip(vertices_of(engine), fetched_flags(engine, words), strict=True):
                assert (part == truth[where]).all()

    def test_what_is_posted_and_pushed_to_is_sent_as_it_is_now(self, rng):
        for engine, _ in self.engines():
            flags = drawn_flags(engine, rng, 0.3)
            either = everywhere(engine, flags, np.logical_or, 0)
            words = held_flags(engine, flags)
            engine.compute("bits.count_range", words, 0, engine.owned, publish=words)
            engine.push(words, "or")
            engine.pull(words)
            for where, part in zip(vertices_of(engine), fetched_flags(engine, words), strict=True):
                assert (part == either[where]).all()

    def test_what_is_posted_whole_can_be_pulled_in_part(self, rng):
        for engine, _ in self.engines():
            values, flags = drawn(engine, rng, "float32"), drawn_flags(engine, rng, 0.5, mirrors=False)
            truth, changed = owners_values(engine, values), owners_values(engine, flags)
            array, words = held(engine, values), held_flags(engine, flags)
            engine.compute("bits.count_range", words, 0, engine.owned, publish=array)
            engine.pull(array, changed=words)
            for where, part, flag in zip(
                vertices_of(engine), engine.download(array), fetched_flags(engine, words), strict=True
            ):
                assert (flag == changed[where]).all()
                assert (part[flag] == truth[where[flag]]).all()

    def test_push_add_empties_mirrors_into_owners(self, rng):
        for engine, dtype in self.engines():
            values = drawn(engine, rng, dtype)
            total = everywhere(engine, values, np.add, 0)
            array = held(engine, values)
            engine.push(array, "add")
            for p, where, part in zip(
                engine.partitions, vertices_of(engine), engine.download(array), strict=True
            ):
                assert (part[: p.owned] == total[where[: p.owned]]).all()
                assert (part[p.owned :] == 0).all()
            assert sent(engine) == bytes_sent_by("holder", engine, values_cost(values[0].itemsize))

    def test_push_min_lowers_owners_and_leaves_mirrors(self, rng):
        for engine, dtype in self.engines():
            values = drawn(engine, rng, dtype)
            least = everywhere(engine, values, np.minimum, 1 << 30)
            array = held(engine, values)
            engine.push(array, "min")
            for p, where, part, old in zip(
                engine.partitions, vertices_of(engine), engine.download(array), values, strict=True
            ):
                assert (part[: p.owned] == least[where[: p.owned]]).all()
                assert (part[p.owned :] == old[p.owned :]).all()
            assert sent(engine) == bytes_sent_by("holder", engine, values_cost(values[0].itemsize))

    def test_push_min_takes_infinity(self):
        for engine, _ in self.engines():
            array = engine.array("float64", np.inf)
            engine.push(array, "min")
            assert all(np.isinf(part).all() for part in engine.download(array))

    def test_push_or_moves_mirrors_flags_to_owners(self, rng):
        for engine, _ in self.engines():
            flags = drawn_flags(engine, rng, 0.3)
            either = everywhere(engine, flags, np.logical_or, 0)
            words = held_flags(engine, flags)
            engine.push(words, "or")
            for p, where, part in zip(
                engine.partitions, vertices_of(engine), fetched_flags(engine, words), strict=True
            ):
                assert (part[: p.owned] == either[where[: p.owned]]).all()
                assert not part[p.owned :].any()
            assert sent(engine) == bytes_sent_by("holder", engine, bits_cost)

    def test_exchanges_of_changes_take_the_flagged_alone(self, rng):
        """Show sparse and dense exchanges of every verb, and that none leaves flags or values to the next.

        Dense exchanges follow sparse ones and the reverse, since routes keep buffers of both kinds.
        """
        for engine, _ in self.engines():
            for share in (1.0, 0.02, 0.5, 0.0, 0.02, 1.0, 0.0):
                for check in (
                    check_pull_of_changes,
                    check_push_add_of_changes,
                    check_push_min_of_changes,
                    check_push_set_of_changes,
                ):
                    engine.superstep("exchange")
                    check(engine, rng, share)

    def test_an_exchange_gives_the_same_every_time(self):
        """Show that an exchange does not depend on which thread or copy is faster."""
        engine = self.engine(3001)
        rng = np.random.default_rng(2)
        values, flags = drawn(engine, rng, "uint32"), drawn_flags(engine, rng, 0.5)
        total = everywhere(engine, values, np.add, 0)
        either = everywhere(engine, flags, np.logical_or, 0)
        vertices = vertices_of(engine)
        array, words = held(engine, values), held_flags(engine, flags)
        all_words = held_flags(engine, [np.ones(len(where), bool) for where in vertices])
        for _ in range(RUNS):
            sums, marks = engine.copy(array), engine.copy(words)
            engine.push(sums, "add", changed=engine.copy(all_words))
            engine.push(marks, "or")
            engine.pull(sums)
            engine.pull(marks)
            for where, part, mark in zip(
                vertices, engine.download(sums), fetched_flags(engine, marks), strict=True
            ):
                assert (part == total[where]).all()
                assert (mark == either[where]).all()


# ---- exchanges of what changed -----------------------------------------------------------------------


def check_pull_of_changes(engine, rng, share):
    values, flags = drawn(engine, rng, "float32"), drawn_flags(engine, rng, share, mirrors=False)
    truth, changed = owners_values(engine, values), owners_values(engine, flags)
    array, words = held(engine, values), held_flags(engine, flags)
    engine.pull(array, changed=words)
    vertices = vertices_of(engine)
    for where, part, old, flag in zip(
        vertices, engine.download(array), values, fetched_flags(engine, words), strict=True
    ):
        assert (flag == changed[where]).all()
        assert (part == np.where(changed[where], truth[where], old)).all()
    travelling = [changed[where[p.owned :]] for p, where in zip(engine.partitions, vertices, strict=True)]
    assert sent(engine) == bytes_sent_by("owner", engine, changes_cost(4, travelling))


def check_push_add_of_changes(engine, rng, share):
    values, flags = drawn(engine, rng, "float64"), drawn_flags(engine, rng, share)
    for p, part, flag in zip(engine.partitions, values, flags, strict=True):
        part[p.owned :][~flag[p.owned :]] = 0  # what is not flagged has not changed: it adds nothing
    total = everywhere(engine, values, np.add, 0)
    either = everywhere(engine, flags, np.logical_or, 0)
    array, words = held(engine, values), held_flags(engine, flags)
    engine.push(array, "add", changed=words)
    for p, where, part, flag in zip(
        engine.partitions,
        vertices_of(engine),
        engine.download(array),
        fetched_flags(engine, words),
        strict=True,
    ):
        assert (part[: p.owned] == total[where[: p.owned]]).all()
        assert (part[p.owned :] == 0).all()
        assert (flag[: p.owned] == either[where[: p.owned]]).all()
        assert not flag[p.owned :].any()
    assert sent(engine) == bytes_sent_by("holder", engine, changes_cost(8, of_mirrors(engine, flags)))


def check_push_min_of_changes(engine, rng, share):
    values, flags = drawn(engine, rng, "uint32"), drawn_flags(engine, rng, share)
    for p, part, flag in zip(engine.partitions, values, flags, strict=True):
        part[p.owned :][~flag[p.owned :]] = 1 << 30  # what is not flagged has not changed: it lowers nothing
    least = everywhere(engine, values, np.minimum, 1 << 30)
    array, words = held(engine, values), held_flags(engine, flags)
    engine.push(array, "min", changed=words)
    for p, where, part, flag, old, flag_before in zip(
        engine.partitions,
        vertices_of(engine),
        engine.download(array),
        fetched_flags(engine, words),
        values,
        flags,
        strict=True,
    ):
        owned = where[: p.owned]
        lowered = least[owned] < old[: p.owned]
        assert (part[: p.owned] == least[owned]).all()
        assert (flag[: p.owned] == (flag_before[: p.owned] | lowered)).all()
        assert not flag[p.owned :].any()
    assert sent(engine) == bytes_sent_by("holder", engine, changes_cost(4, of_mirrors(engine, flags)))


def check_push_set_of_changes(engine, rng, share):
    values, flags = drawn(engine, rng, "uint32"), drawn_flags(engine, rng, share)
    vertices = vertices_of(engine)
    told = np.zeros(sum(p.owned for p in engine.partitions), bool)
    for p, where, part, flag in zip(engine.partitions, vertices, values, flags, strict=True):
        part[p.owned :] = np.where(flag[p.owned :], 7 * where[p.owned :], 1)  # holders agree
        told[where[p.owned :][flag[p.owned :]]] = True
    array, words = held(engine, values), held_flags(engine, flags)
    engine.push(array, "set", changed=words)
    for p, where, part, flag, old, flag_before in zip(
        engine.partitions,
        vertices,
        engine.download(array),
        fetched_flags(engine, words),
        values,
        flags,
        strict=True,
    ):
        owned = where[: p.owned]
        assert (part[: p.owned] == np.where(told[owned], 7 * owned, old[: p.owned])).all()
        assert (part[p.owned :] == old[p.owned :]).all()
        assert (flag[: p.owned] == (flag_before[: p.owned] | told[owned])).all()
        assert not flag[p.owned :].any()
    assert sent(engine) == bytes_sent_by("holder", engine, changes_cost(4, of_mirrors(engine, flags)))


# ---- values and flags, on the host and on elements ---------------------------------------------------


def vertices_of(engine):
    """The graph's number of each local vertex."""
    return [e.download(p.vertices) for e, p in zip(engine.elements, engine.partitions, strict=True)]


def drawn(engine, rng, dtype):
    """Small whole numbers, so that sums are exact in any order."""
    return [rng.integers(0, 1000, len(p.vertices)).astype(dtype) for p in engine.partitions]


def drawn_flags(engine, rng, share, *, mirrors=True):
    flags = [rng.random(len(p.vertices)) < share for p in engine.partitions]
    for p, flag in zip(engine.partitions, flags, strict=True):
        flag[p.owned :] &= mirrors
    return flags


def of_mirrors(engine, flags):
    return [flag[p.owned :] for p, flag in zip(engine.partitions, flags, strict=True)]


def held(engine, values):
    """Copies of the values, each on its element."""
    return engine.upload([part.copy() for part in values])


def held_flags(engine, flags):
    return PartitionedArray(engine.upload([packed(flag) for flag in flags]).parts, bits=True)


def fetched_flags(engine, words):
    pairs = zip(engine.partitions, engine.download(words), strict=True)
    return [unpack(part, len(p.vertices)) for p, part in pairs]


def packed(flags):
    """One bit a vertex, the lowest bit of the first word first."""
    bits = np.zeros((len(flags) + 63) // 64 * 64, bool)
    bits[: len(flags)] = flags
    return np.packbits(bits, bitorder="little").view("<u8").astype(np.uint64)


def unpack(words, length):
    return np.unpackbits(words.astype("<u8").view(np.uint8), bitorder="little")[:length].astype(bool)


def owners_values(engine, parts):
    """The owner's value of every vertex of the graph."""
    values = np.zeros(sum(p.owned for p in engine.partitions), parts[0].dtype)
    for p, where, part in zip(engine.partitions, vertices_of(engine), parts, strict=True):
        values[where[: p.owned]] = part[: p.owned]
    return values


def everywhere(engine, parts, reduce, start):
    """The values that owner and mirrors have of every vertex of the graph, reduced."""
    dtype = parts[0].dtype
    values = np.full(sum(p.owned for p in engine.partitions), start).astype(dtype)
    for where, part in zip(vertices_of(engine), parts, strict=True):
        reduce.at(values, where, part)
    return values


# ---- bytes, by hand ----------------------------------------------------------------------------------


def sent(engine):
    """Bytes that each element sent in this superstep."""
    return [span.bytes_sent for span in engine.timeline.spans[-len(engine.elements) :]]


def bytes_sent_by(sender, engine, cost):
    """Bytes that each element is to send, by hand: ``cost(route)`` gets the mirrors of one holder and owner.

    They come as one boolean for each mirror of the holder. `sender` is "holder" or "owner".
    """
    vertices = vertices_of(engine)
    owner_of = np.empty(sum(p.owned for p in engine.partitions), int)
    for q, p in enumerate(engine.partitions):
        owner_of[vertices[q][: p.owned]] = q
    count = [0] * len(engine.partitions)
    for holder, p in enumerate(engine.partitions):
        owners = owner_of[vertices[holder][p.owned :]]
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


# 800 mirrors: 3,300 bytes dense with their flags (float32: 3,200 and 100). A sparse one costs 8 bytes, so 412
# of them are 3,296 bytes, and 413 are 3,304. With float64: 6,500 bytes dense, 12 each: 541 are 6,492.
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
    """An exchange on one route of 800 mirrors, the first of which are flagged, and the bytes it moves."""
    begin, k = 100, 800
    index = np.arange(k, dtype=np.uint32) * 2
    route = place(Route.from_index(0, 1, begin, index, 2 * k), owner)
    mirrored, owned = np.ones(begin + k, dtype), np.full(2 * k, 2, dtype)
    mirror_flags, owned_flags = np.zeros(begin + k, bool), np.zeros(2 * k, bool)
    if verb == "pull":
        owned_flags[: 2 * flagged : 2] = True
    else:
        mirror_flags[begin : begin + flagged] = True
        mirrored[begin + flagged :] = 0 if verb == "push_add" else 9
    here = holder.upload(mirrored), holder.upload(packed(mirror_flags))
    there = owner.upload(owned), owner.upload(packed(owned_flags))
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
    """Exchange on the route by its transport; between memories, the sender's array changes meanwhile."""
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
        moved += sum(nbytes for one in done for value in one.values for _, nbytes in value)
        if number == 0 and holder.memory != owner.memory:
            elements[sender].run(arrays.parts[sender].fill, 55)
    return moved


def send(sender, receiver, source, target):
    """Begin to send one array by the transport that joins two elements; returns the end that receives."""
    sending, receiving = connect(sender, receiver)
    receiving.expect({"values": target})
    sending.send(Packet(Encoding.DENSE, len(source), source.nbytes, {"values": source}))
    return receiving
