"""Ranks that do not make the same collective call with equal arguments all get an error that says so.

The tests find the operations in the source, and their arguments in the signatures. A new operation fails
until the table has it, and a new argument is tested at once.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import math
import pickle
import sys
from fractions import Fraction
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import FunctionType

import numpy as np
import pandas as pd
import pytest

import evener as ev
from evener.cli.machine_commands import show_ranks
from evener.engine.timeline import Timeline
from evener.graph import adjacency
from evener.partition.distributed.build import READ_OPTIONS, read_graph
from evener.partition.distributed.graph import DistributedGraph
from evener.partition.partitioned import PartitionedGraph
from evener.programs.mapreduce.rows import Rows
from evener.results.columns import Column
from evener.results.rows import ResultRows
from evener.results.table_result import TableResult
from evener.spec.registry import find, names
from evener.system.agreement import OF_A_RANK, collective
from evener.system.fingerprint import digest_of, file_fingerprint
from evener.system.world import current_world
from evener.testing.ranks import RankError, run_ranks
from support import kcore_example

HOME = Path(ev.__file__).parent
RANKS = 3
OTHER = 1  # the rank that calls differently
CLASSES = [ev.Result, ResultRows, Rows, PartitionedGraph, DistributedGraph, ev.Graph]
# A driver that calls them runs inside a collective call. Comparing calls would slow its loop.
OF_DRIVERS = [ev.Engine]
# The row of each source has headers of its own.
BY_ROWS = {"ResultRows.gather"}


def edges(n=6, *, weights=(1.0, 2.0, 3.0, 4.0, 5.0), ids=None, directed=True, ends=(1, 2, 3, 4, 5)):
    """Return a directed path with a few changes."""
    g = ev.Graph.from_edges(
        [0, 1, 2, 3, 4], list(ends), None if weights is None else np.array(weights), directed, n
    )
    if ids is None:
        return g
    return ev.Graph(g.offsets, g.targets, weights=g.weights, ids=np.array(ids), directed=directed)


class Setting:
    """The objects of one rank on which operations are called."""

    def __init__(self):
        self.graph = edges()
        self.placed = ev.partition(self.graph, "cpu:1")
        self.parts = read_graph("grid:2x3", "both")
        self.result = self.new_result()
        self.table = TableResult(
            "graph", "transitivity", self.graph, {"transitivity": np.zeros(1)},
            columns=[Column("transitivity")], parameters={}, timeline=Timeline(), seconds=0, edges=0,
            partitioned=self.placed,
        )  # fmt: skip
        self.rows = Rows(np.arange(2), [np.arange(2)], single=True, run=self.result)

    def new_result(self):
        return ev.Result(
            "bfs", self.graph, {"distance": lambda: np.zeros(len(self.placed.block))}, parameters={},
            timeline=Timeline(), seconds=0, edges=0, partitioned=self.placed,
        )  # fmt: skip


def add(a, b):
    return a + b


def multiply(a, b):
    return a * b


def edge(source, target):
    return source, target


PROGRAM = ev.VertexProgram(
    state={"x": 0, "y": 1.0},
    send=lambda state, weight: state.x,  # noqa: ARG005 - the parameters of every `send`
    combine=min,
    apply=lambda state, message: ((state.x, state.y), message < state.x),
)
ALGORITHMS = sorted(names())


def operations(s):
    """Return each operation by its qualified name: the function and valid arguments by name."""
    zeros = [np.zeros(partition.owned, np.uint32) for partition in s.placed.partitions]
    found = {
        "partition": (ev.partition, {"graph": s.graph, "on": "cpu:1"}),
        "read_graph": (read_graph, {"path": "grid:2x3", "directions": "both"}),
        "gimv": (ev.gimv, {"graph": s.placed, "combine2": add, "combine_all": min, "assign": min, "v0": 0.0}),
        "vertex_program": (ev.vertex_program, {"graph": s.placed, "program": PROGRAM}),
        "mapreduce": (ev.mapreduce, {"graph": s.placed, "map": edge, "combine": min}),
        "verify": (ev.verify, {"result": s.result}),
        "show_ranks": (show_ranks, {"world": s.placed.world, "as_json": False}),
        "Engine.__init__": (ev.Engine, {"partitioned": s.placed, "algorithm": "own"}),
        "RunRecord._gather_array": (ev.Result._gather_array, {"self": s.result, "name": "distance"}),
        "Result.gather": (ev.Result.gather, {"self": s.result}),
        "Result.top": (ev.Result.top, {"self": s.result}),
        "Result.write": (ev.Result.write, {"self": s.result, "path": "nowhere/a.csv"}),
        "Result.path": (ev.Result.path, {"self": s.result, "vertex": 0}),
        "Result.value": (ev.Result.value, {"self": s.result, "vertex": 0}),
        "GpuColumns.device": (ev.Result.device, {"self": s.result, "name": "distance"}),
        "TableResult.gather": (TableResult.gather, {"self": s.table}),
        "TableResult.top": (TableResult.top, {"self": s.table}),
        "Rows.gather": (Rows.gather, {"self": s.rows}),
        "Rows.write": (Rows.write, {"self": s.rows, "path": "nowhere/a.csv"}),
        "DistributedGraph.numbers_of": (DistributedGraph.numbers_of, {"self": s.parts, "ids": [0]}),
        "DistributedGraph.numbers_on_ranks": (
            DistributedGraph.numbers_on_ranks,
            {"self": s.parts, "ids": np.arange(2)},
        ),
        "DistributedGraph.ids_of": (DistributedGraph.ids_of, {"self": s.parts, "numbers": np.arange(2)}),
        "PartitionedGraph._all_statistics": (PartitionedGraph._all_statistics, {"self": s.placed}),
        "PartitionedGraph.place_of": (PartitionedGraph.place_of, {"self": s.placed, "vertex": 0}),
        "PartitionedGraph.places_of": (
            PartitionedGraph.places_of,
            {"self": s.placed, "vertices": np.arange(2)},
        ),
    }
    for name in ("gather", "gather_vertices", "gather_numbers"):
        function = getattr(PartitionedGraph, name)
        found[f"PartitionedGraph.{name}"] = function, {"self": s.placed, "parts": zeros}
    floats = {"self": s.placed, "parts": zeros, "absent": 0}
    found["PartitionedGraph.gather_floats"] = PartitionedGraph.gather_floats, floats
    for name in ALGORITHMS:
        required = {option.name: 0 for option in find(name).options if option.required}
        found[name] = find(name).function(), {"graph": s.placed, **required}
    return found


def decorated():
    """Return the qualified names of the functions with a decorator of ranks, by reading the source."""
    found = set()
    for path in HOME.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for owner in [tree, *(node for node in tree.body if isinstance(node, ast.ClassDef))]:
            prefix = f"{owner.name}." if isinstance(owner, ast.ClassDef) else ""
            for node in owner.body:
                calls = [ast.unparse(one) for one in getattr(node, "decorator_list", [])]
                if any(call.startswith(("collective(", "driver(")) for call in calls):
                    found.add(f"{prefix}{node.name}")
    return found


def public_functions():
    """Yield the public functions and methods by qualified name."""
    for name in ev.__all__:
        if isinstance(value := getattr(ev, name), FunctionType):
            yield value.__qualname__, value
    for owner in {*CLASSES, *(one for one in map(partial(getattr, ev), ev.__all__) if isinstance(one, type))}:
        for name, value in vars(owner).items():
            if isinstance(value, FunctionType) and not name.startswith("_") and owner not in OF_DRIVERS:
                yield value.__qualname__, value


def doc(function):
    """Return the docstring of a function in one line."""
    return " ".join(inspect.getdoc(function).split())


def outcome(function, arguments):
    """Return the error of a call and its text; None for an answer."""
    try:
        function(**arguments)
    except Exception as error:  # noqa: BLE001 - any error is an outcome
        return type(error), str(error)
    return None


def on_ranks(make):
    """Return the outcomes of the calls that ``make(setting, rank)`` returns by name, of all ranks."""

    def run(world):
        return {name: outcome(*call) for name, call in make(Setting(), world.rank).items()}

    first, *others = run_ranks(RANKS, run, timeout=20)
    assert all(one == first for one in others)
    return first


@pytest.fixture(scope="module", autouse=True)
def own_algorithm():
    """Register an algorithm of another package."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(kcore_example.FOLDER.parent))
        kcore_example.register(patch, {"kcore": "evener_kcore:SPEC"})
        patch.setattr(sys.modules[__name__], "ALGORITHMS", sorted(names()))
        yield


# ---- every operation is covered ------------------------------------------------------------------------


def test_the_table_has_every_operation():
    found = run_ranks(2, lambda _: set(operations(Setting())))[0]
    of_factory = {name for name in names() if find(name).row == "pair"}
    assert found == decorated() | of_factory | {"kcore"}


def test_docstrings_say_which_functions_are_collective():
    functions = dict(public_functions())
    said = {name for name, one in functions.items() if "is a collective operation" in doc(one)}
    assert len(said) > 20
    assert said - BY_ROWS == {name for name, one in functions.items() if hasattr(one, "collective")}


# ---- other operations, arguments and graphs ------------------------------------------------------------


def test_other_operations():
    """Each operation meets the next one of the table."""

    def calls(s, rank):
        every = list(operations(s).items())
        turned = [*every[1:], every[0]]
        return {
            f"{name}, {after}": own if rank != OTHER else other
            for (name, own), (after, other) in zip(every, turned, strict=True)
        }

    for name, found in on_ranks(calls).items():
        assert found is not None, name
        assert found[0] is ev.MpiError, name
        assert "expected the same call on all ranks, found " in found[1]


def test_an_operation_that_one_rank_does_not_call():
    def run(world):
        s = Setting()
        return world.rank == OTHER or [outcome(*call)[0] for call in operations(s).values()]

    with pytest.raises(RankError, match=f"rank {OTHER} has returned without it"):
        run_ranks(RANKS, run)


def arguments_of(function):
    """Return the names of the arguments that ranks compare."""
    taken = inspect.signature(function).parameters.values()
    own = getattr(function, "collective", None) or ev.Engine.__init__.collective
    plain = [one.name for one in taken if one.kind is not one.VAR_KEYWORD and one.name not in own]
    more = READ_OPTIONS if any(one.kind is one.VAR_KEYWORD for one in taken) else ()
    return [name for name in (*plain, *more) if name not in ("self", "graph", "result", "partitioned")]


def test_other_arguments():
    """Each argument of each operation differs on one rank."""

    def calls(s, rank):
        return {
            (name, argument): (function, given | ({argument: "another"} if rank == OTHER else {}))
            for name, (function, given) in operations(s).items()
            for argument in arguments_of(function)
        }

    found = on_ranks(calls)
    assert len(found) > 100
    for (name, argument), error in found.items():
        assert error is not None, (name, argument)
        assert error[0] is ev.MpiError, (name, argument)
        assert f"expected the same {argument} on all ranks, found " in error[1]
        assert f" and 'another' on rank {OTHER}; " in error[1]


def test_other_objects():
    """The graph, the placement, the result or the rows differ on one rank."""

    def calls(s, rank):
        others = {
            id(s.graph): edges(ends=(2, 2, 3, 4, 5)),
            id(s.placed): ev.partition(s.graph, "cpu:1"),
            id(s.parts): read_graph("grid:2x3", "both"),
            id(s.result): s.new_result(),
            id(s.rows): Rows(np.arange(2), [np.arange(2)], single=True, run=s.new_result()),
        }
        return {
            (name, argument): (
                function, given | ({argument: others[id(value)]} if rank == OTHER else {}),
            )
            for name, (function, given) in operations(s).items()
            for argument, value in given.items()
            if id(value) in others
        }  # fmt: skip

    found = on_ranks(calls)
    assert len(found) > 25
    for name, error in found.items():
        assert error is not None, name
        assert error[0] is ev.MpiError, name
        assert " on all ranks, found " in error[1]


GRAPHS = {
    "edges": edges(ends=(2, 2, 3, 4, 5)),
    "weights": edges(weights=(1.0, 2.0, 3.0, 5.0, 4.0)),
    "ids": edges(ids=range(1, 7)),
    "type of weights": edges(weights=np.arange(1, 6, dtype=np.float32)),
    "number of vertices": edges(7),
    "direction": edges(directed=False),
}


@pytest.mark.parametrize("what", sorted(GRAPHS))
def test_other_graphs(what):
    """Each operation on a whole graph says what differs."""

    def calls(s, rank):
        graph = GRAPHS[what] if rank == OTHER else s.graph
        return {
            name: (function, given | {"graph": graph})
            for name, (function, given) in operations(s).items()
            if "graph" in given
        }

    found = on_ranks(calls)
    assert len(found) > 12
    for name, error in found.items():
        assert error is not None, name
        assert error[0] is ev.MpiError, name
        assert f"expected the same {what} of graph on all ranks, found " in error[1]


@pytest.mark.parametrize("other", ["graph", "path", "reversed", "objects", "names"])
def test_kinds_of_graphs(other):
    """A graph in place of a placed graph, a path in place of both, the reverse, and other kinds of ids."""

    def calls(s, rank):
        given = {
            "graph": [s.placed, s.graph],
            "path": [s.graph, "grid:2x3"],
            "reversed": [s.graph, ev.Graph.from_in_edges(s.graph)],
            "objects": [edges(ids=list("abcdef")), edges(ids=list("abcdeg"))],
            "names": [s.graph, edges(ids=list("abcdef"))],
        }[other]
        return {"wcc": (ev.wcc, {"graph": given[rank == OTHER]})}

    kind, text = on_ranks(calls)["wcc"]
    assert kind is ev.MpiError
    assert "graph on all ranks, found " in text


def test_files_with_other_content(monkeypatch):
    """Ranks on machines with disks of their own see other files under one name."""
    path_of_all = "grid:2x4"

    def content(path):
        return f"content {current_world().rank == OTHER and path == path_of_all}"

    monkeypatch.setattr("evener.system.agreement.file_fingerprint", content)
    found = on_ranks(
        lambda s, _: {
            name: (one, {"graph": path_of_all})
            for name, (one, _) in operations(s).items()
            if name in ("partition", *ALGORITHMS)
        }
    )
    assert len(found) > 10
    for error in found.values():
        assert error[0] is ev.MpiError
        assert "expected the same content of graph on all ranks, found 'content False' on rank 0" in error[1]


def test_a_fingerprint_covers_a_file(tmp_path):
    """A changed byte of a small file is found, and one in the middle or at the end of a large file."""
    for size, place in (
        (100_000, 0),
        (100_000, 50_000),
        (100_000, 99_999),
        (1 << 20, 1 << 19),
        (1 << 20, -1),
    ):
        content = bytearray(size)
        file = tmp_path / "g.bin"
        file.write_bytes(content)
        before = file_fingerprint(file)
        content[place] = 1
        file.write_bytes(content)
        assert file_fingerprint(file) != before
    assert file_fingerprint(tmp_path) == file_fingerprint(file)
    assert file_fingerprint(tmp_path / "none") == "no file"


# ---- arguments that ranks may differ in, and errors of one rank ------------------------------------------

WRONG = {"on": "gpu:7", "gpu_memory": "much", "progress": "loud", "memory": "much"}


def test_a_wrong_argument_of_one_rank():
    """All ranks raise the error of one rank for an argument that need not be equal."""

    graph = edges(directed=False)

    def calls(s, rank):
        return {
            (name, argument): (
                function,
                given | {"graph": graph} | ({argument: wrong} if rank == OTHER else {}),
            )
            for name, (function, given) in operations(s).items()
            if "graph" in given
            for argument, wrong in WRONG.items()
            if argument in inspect.signature(function).parameters
        }

    found = on_ranks(calls)
    assert len(found) > 40
    assert {argument for _, argument in found} == {*OF_A_RANK, "memory"}
    for (name, argument), error in found.items():
        assert error is not None, (name, argument)
        assert error[0] is ev.ArgumentError, (name, argument, error)
        assert WRONG[argument] in error[1] or argument in error[1]


@pytest.mark.parametrize("argument", ["on", "gpu_memory"])
def test_a_placement_of_a_placed_graph_on_one_rank(argument):
    def calls(s, rank):
        return {"wcc": (ev.wcc, {"graph": s.placed} | ({argument: "1"} if rank == OTHER else {}))}

    kind, text = on_ranks(calls)["wcc"]
    assert kind is ev.ArgumentError
    assert "the graph is already placed" in text


def test_an_unknown_argument_of_one_rank():
    def run(world):
        return outcome(ev.wcc, {"graph": "grid:2x3"} | ({"depth": 3} if world.rank == OTHER else {}))

    first, (kind, text), third = run_ranks(RANKS, run)
    assert first == third == (ev.MpiError, f"wcc: rank 1 failed: TypeError: {text}")
    assert kind is TypeError
    assert "unexpected keyword argument 'depth'" in text


class Broken:
    """An object that fails when it is read."""

    def __array__(self, *_, **__):
        raise ZeroDivisionError("no array")


def test_an_argument_that_fails_on_one_rank():
    def run(world):
        s = Setting()
        return outcome(ev.bfs, {"graph": s.placed, "source": Broken() if world.rank == OTHER else 0})

    first, second, third = run_ranks(RANKS, run)
    assert second == (ZeroDivisionError, "no array")
    assert first == third == (ev.MpiError, "bfs: rank 1 failed: ZeroDivisionError: no array")


# ---- values ----------------------------------------------------------------------------------------------

MANY = np.arange(5000)
EQUAL = [
    (5, np.int64(5)),
    (0.5, np.float64(0.5)),
    (True, np.True_),
    (math.nan, float("nan")),
    ([1.0, math.nan], [1.0, float("nan")]),
    ({"a", "b", "c", 1}, {1, "c", "b", "a"}),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    (MANY, MANY.copy()),
    (MANY[::2], MANY[::2].copy()),
    (Path("a"), "a"),
    ((1, "a", None), (1, "a", None)),
    (pd.Series([1, 2], index=["a", "b"]), pd.Series([1, 2], index=["a", "b"])),
    (Fraction(1, 3), Fraction(1, 3)),
    (min, min),
    (np.float32, np.float32),
]
UNEQUAL = [
    (5, 5.0),
    (1, True),
    (0.0, -0.0),
    (1.0, np.nextafter(1.0, 2.0)),
    (2**60, 2**60 + 1),
    ("1", 1),
    (None, "None"),
    (MANY, np.where(MANY == 2500, 0, MANY)),  # the printed arrays are equal
    (MANY, MANY.astype(np.int32)),
    (np.zeros((2, 3)), np.zeros((3, 2))),
    (np.array([0.0]), np.array([-0.0])),
    (list(range(5000)), [*range(4999), 0]),
    ([1, 2], [2, 1]),
    (["ab", "c"], ["a", "bc"]),
    ({1, 2}, {1, 3}),
    ({"a": 1, "b": 2}, {"a": 2, "b": 1}),
    (pd.Series([1, 2], index=["a", "b"]), pd.Series([1, 2], index=["b", "a"])),
    (Fraction(1, 3), Fraction(2, 3)),
    (np.array([(1, "a"), None], object), np.array([(1, "b"), None], object)),
    (min, max),
    (np.float32, np.float64),
]


@pytest.mark.parametrize(("one", "other"), EQUAL, ids=range(len(EQUAL)))
def test_equal_values(one, other):
    assert digest_of(one) == digest_of(other)


@pytest.mark.parametrize(("one", "other"), UNEQUAL, ids=range(len(UNEQUAL)))
def test_unequal_values(one, other):
    assert digest_of(one) != digest_of(other)


def test_a_set_of_strings_has_one_order_on_all_ranks():
    """The order of a set of strings differs between processes, and rows are in the order of sources."""
    taken = []

    def own(_, sources):
        taken.append(sources)

    orders = [["a", "b", "c"], ["c", "b", "a"], ["b", "c", "a"]]

    class Ordered(frozenset):
        def __iter__(self):
            return iter(orders[current_world().rank])

    run_ranks(RANKS, lambda _: collective()(own)("grid:2x3", Ordered("abc")))
    assert len(taken) == RANKS
    assert taken[0] == taken[1] == taken[2]
    assert sorted(taken[0]) == ["a", "b", "c"]


def test_iterators_are_read_once():
    def run(_):
        return ev.bfs(ev.partition(edges(), "cpu:1"), sources=iter([0, 3]))["distance"].tolist()

    assert run_ranks(2, run) == [[0, 1, 2], [0, 1, 2]]


def operator(shift):
    return lambda m, v: v + m * shift


def test_operators_with_other_code_or_values():
    """Operators are compared by their code and the values that they use, at any place in memory."""
    variants = {
        "value": [operator(1.0), operator(2.0)],
        "code": [lambda m, v: v + m, lambda m, v: v - m],
        "called": [lambda m, v: add(v, m), lambda m, v: multiply(v, m)],
        "builtin": [min, max],
        "kind": [operator(1.0), 5],
        "impure": [operator(1.0), lambda m, v: v + np.random.default_rng().random()],  # noqa: ARG005
    }

    def calls(s, rank):
        given = {"graph": s.placed, "combine_all": min, "assign": min, "v0": 0.0}
        return {name: (ev.gimv, given | {"combine2": pair[rank == OTHER]}) for name, pair in variants.items()}

    for name, (kind, text) in on_ranks(calls).items():
        assert kind is ev.MpiError, name
        assert "gimv: expected the same combine2 on all ranks, found " in text


def test_parts_of_a_vertex_program():
    """Each field of a program, and the order of its state, count."""
    others = {one.name: "another" for one in dataclasses.fields(PROGRAM)} | {"state": {"y": 1.0, "x": 0}}

    def calls(s, rank):
        return {
            name: (ev.vertex_program, {
                "graph": s.placed,
                "program": dataclasses.replace(PROGRAM, **{name: other}) if rank == OTHER else PROGRAM,
            })
            for name, other in others.items()
        }  # fmt: skip

    for name, (kind, text) in on_ranks(calls).items():
        assert kind is ev.MpiError, name
        assert f"expected the same {name} of program on all ranks, found " in text


def test_the_order_of_fields_counts():
    fields = [{"a": 0, "b": 1.0}, {"b": 1.0, "a": 0}]

    def calls(s, rank):
        given = {"graph": s.placed, "combine2": add, "combine_all": min, "assign": min}
        return {"gimv": (ev.gimv, given | {"v0": fields[rank == OTHER]})}

    kind, text = on_ranks(calls)["gimv"]
    assert kind is ev.MpiError
    assert "expected the same v0 on all ranks" in text


def test_a_message_names_all_ranks_with_the_other_value():
    def run(world):
        return outcome(ev.partition, {"graph": "grid:2x3", "seed": min(world.rank, 1)})

    _, text = run_ranks(3, run)[0]
    assert text == (
        "partition: expected the same seed on all ranks, found 0 on rank 0 and 1 on ranks 1 and 2; give all "
        "ranks the same graph and arguments"
    )


# ---- checksums of graphs ---------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_a_checksum_does_not_depend_on_how_a_graph_is_stored(weighted):
    weights = (1.0, 2.0, 3.0, 4.0, 5.0) if weighted else None
    graph = edges(weights=weights)
    in_edges = ev.Graph.from_in_edges(graph.reverse)
    pickled = pickle.loads(pickle.dumps(graph))
    assert in_edges.stored_directions == ("in",)
    assert graph.agreed() == in_edges.agreed() == pickled.agreed()
    names = ev.Graph(graph.offsets, graph.targets, directed=True, ids=np.array(list("abcdef")))
    wide = ev.Graph(graph.offsets, graph.targets, directed=True, ids=np.array(list("abcdef"), "U20"))
    assert digest_of(names) == digest_of(wide)


def test_a_checksum_covers_every_edge_and_weight():
    """The checksums of a larger graph, in many slices, are those of a plain loop."""
    graph = ev.read("rmat:8,weights=1..9")
    edge_sum = weight_sum = 0
    for row, (first, end) in enumerate(pairwise(graph.offsets.tolist())):
        for e in range(first, end):
            word = (mixed(row) ^ int(graph.targets[e])) * 0x94D049BB133111EB % 2**64
            word = (word ^ (word >> 32)) * 0xFF51AFD7ED558CCD % 2**64
            edge_sum += word
            weight_sum += mixed(word ^ mixed(int(graph.weights[e])))
    found = graph.agreed()
    assert found["edges"] == f"checksum {edge_sum % 2**64:016x}"
    assert found["weights"] == f"checksum {weight_sum % 2**64:016x}"


def mixed(word):
    """Return the finalizer of SplitMix64 of a word."""
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB % 2**64
    return word ^ (word >> 31)


def test_a_graph_is_read_once_and_only_with_several_ranks(monkeypatch):
    calls = []
    original = adjacency.edge_checksums
    monkeypatch.setattr(adjacency, "edge_checksums", lambda *args: calls.append(1) or original(*args))
    graph = edges()
    ev.partition(graph, "cpu:1")
    assert calls == []
    run_ranks(2, lambda _: [ev.partition(graph, "cpu:1") for _ in range(3)])
    assert len(calls) <= 2  # two threads may begin at the same time


@pytest.mark.parametrize("n", [0, 3])
def test_graphs_without_edges(n):
    graphs = [ev.Graph.from_edges([], [], n=n) for _ in range(2)]
    assert digest_of(graphs[0]) == digest_of(graphs[1]) != digest_of(ev.Graph.from_edges([], [], n=n + 1))
