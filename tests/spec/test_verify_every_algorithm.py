"""Every registered verifier: names with markup, arrays of other forms, and every option of the algorithm."""

from __future__ import annotations

import inspect
import warnings

import networkx as nx
import numpy as np
import pytest

import evener as ev
from evener.errors import ArgumentError, VerificationError
from evener.spec import registry
from evener.spec.verify import Claim
from support import kcore_example

ALGORITHMS = [*registry.names(), "kcore"]
# Names that a message could read as a template, a format, an escape, markup, or an option.
NAMES = [
    "{a}", "{0}", "{", "}{", "{!r:>9}", "%s %d", "100%", "back\\slash\\n", "new\nline", "a\rb", "tab\t",
    "[red]", "[/]", "[bold]x", "\x1b[31m", "\u202e", "source=", "x" * 5000, "", "None", "-1",
]  # fmt: skip


@pytest.fixture(autouse=True)
def kcore(monkeypatch):
    """Register the example package, as an algorithm from outside."""
    kcore_example.load()
    monkeypatch.syspath_prepend(str(kcore_example.FOLDER.parent))
    kcore_example.register(monkeypatch, {"kcore": "evener_kcore:SPEC"})


def named_graph(names=NAMES, *, weight=None):
    """A path through the names in two halves, with a chord, so that components and distances differ."""
    half = len(names) // 2
    graph = nx.Graph()
    graph.add_nodes_from(names)
    nx.add_path(graph, names[:half], weight=2.0)
    nx.add_path(graph, names[half:], weight=2.0)
    graph.add_edge(names[0], names[2], weight=0.5)
    return ev.Graph.from_networkx(graph, weight=weight)


def run(name, graph, **options):
    """Return the result of an algorithm, from the first vertex if it needs a source."""
    spec = registry.find(name)
    required = {one.name: graph.ids[:1].tolist()[0] for one in spec.options if one.required}
    return spec.function()(graph, on="cpu:1", **{**required, **options})


def claim_of(result, **arrays):
    right = {name: np.asarray(result[name]) for name in result}
    return Claim(result.algorithm, result.graph, {**right, **arrays}, result.parameters, result.outcome)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_messages_show_any_name(name):
    graph = named_graph()
    result = run(name, graph)
    ev.verify(claim_of(result))
    messages = []
    for column, values in claim_of(result).arrays.items():
        kind = registry.find(name).column(column)
        for v in range(len(values)):
            others = [*graph.ids[:3], None, "no such {name}"] if kind.names_vertices else [-1, values[v] + 1]
            for other in others:
                changed = values.copy()
                changed[v] = other
                try:
                    ev.verify(claim_of(result, **{column: changed}))
                except VerificationError as error:
                    messages.append(str(error))
    assert messages
    assert all(message.isprintable() and len(message) <= 600 for message in messages)


@pytest.mark.parametrize("ids", [[(0, 1), (0, "{a}"), (1, 0)], [1, "{0}", ("a", 2)]], ids=["tuples", "mixed"])
def test_ids_that_are_objects(ids):
    graph = ev.Graph.from_networkx(nx.path_graph(ids, nx.DiGraph))
    distance, parent = np.array([0, 1, 2]), [ids[0], ids[0], ids[1]]
    ev.verify(Claim("bfs", graph, {"distance": distance, "parent": parent}, {"source": ids[0]}))
    for wrong in (ids[0], ids[2], None, -1, ([],), [0], {}):
        with pytest.raises(VerificationError):
            ev.verify(
                Claim(
                    "bfs", graph, {"distance": distance, "parent": [*parent[:2], wrong]}, {"source": ids[0]}
                )
            )


FORMS = {
    "one value fewer": lambda x: x[:-1],
    "one value more": lambda x: [*x, x[0]],
    "a matrix": lambda x: np.stack([x, x]),
    "a single value": lambda x: x[0],
    "nothing": lambda _: None,
    "sequences of unequal lengths": lambda x: [[1, 2], *x[1:].tolist()],
    "text": lambda x: np.array([f"x{one}" for one in x]),
    "complex numbers": lambda x: np.ones(len(x), complex),
    "times": lambda x: np.zeros(len(x), "datetime64[s]"),
    "missing values": lambda x: np.array([np.nan, *x[1:].tolist()], object),
    "a mask": lambda x: np.ma.array(x, mask=np.arange(x.size).reshape(x.shape) == 0),
    "another order": lambda x: x[np.argsort(np.argsort(x)[::-1])[::-1]][::-1],
}


@pytest.mark.parametrize("name", ALGORITHMS)
def test_arrays_of_another_form_are_refused(name):
    graph = ev.Graph.from_edges([0, 1, 2, 0, 4], [1, 2, 3, 2, 5], directed=False, n=8)
    result = run(name, graph)
    for column, values in claim_of(result).arrays.items():
        for how, change in FORMS.items():
            if how == "another order" and registry.find(name).row != "vertex":
                continue
            other = change(values)
            if how == "another order" and np.array_equal(np.asarray(other, object), values.astype(object)):
                continue
            with pytest.raises(VerificationError):
                ev.verify(claim_of(result, **{column: other}))
        left = {one: array for one, array in claim_of(result).arrays.items() if one != column}
        with pytest.raises(ArgumentError, match=f"has no array '{column}'"):
            ev.verify(Claim(name, graph, left, result.parameters, result.outcome))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_right_arrays_of_other_types_are_accepted(name):
    graph = ev.Graph.from_edges([0, 1, 2, 0, 4], [1, 2, 3, 2, 5], directed=False, n=8)
    result = run(name, graph)
    for column, values in claim_of(result).arrays.items():
        spec = registry.find(name).column(column)
        forms = [
            np.ma.array(values),
            np.ascontiguousarray(values[::-1])[::-1],
            values.astype(values.dtype.newbyteorder()),
        ]
        if values.dtype.kind in "iu":
            forms += [values.astype(np.int64), values.astype(np.int8)]
        if not spec.names_vertices:
            forms += [values.tolist(), values.astype(object)]
        for other in forms:
            ev.verify(claim_of(result, **{column: other}))


# Algorithms that approach a value.
APPROACHED = ("hits", "eigenvector", "katz")
# Values of options, by name or by type; None is the default.
VALUES = {
    "source": [2, [0, 4], np.array([0, 4])],
    "sources": [[2], (0, 4), np.array([1, 5])],
    "target": [None, 2, 5],
    "cutoff": [None, 0, 1, 1.5, np.float32(2), np.inf, float("inf")],
    "damping": [0, 0.5, np.float64(0.85), 1],
    "tol": [1e-3, np.float32(1e-6)],
    "max_iter": [0, np.int64(3), 40.0],
    "delta": [None, 0.5, 100, np.inf],
    "attenuation": [None, 0.01],
    "personalization": [None, {2: 1.0}, np.arange(8)],
    "k": [1, np.int32(8)],
    "pairs": [None, [(0, 3)], np.array([0, 3, 1, 1])],
    "resolution": [0.25, 0.5, np.float32(2)],
    "max_searches": [None, 1, np.int64(8)],
    "max_levels": [None, 1, np.int64(3)],
    "communities": [None, np.arange(8) % 3, {v: v % 2 for v in range(8)}],
    "length": [1, np.int64(5)],
    "walks_per_vertex": [1, 2],
    "p": [0.5, 2],
    "q": [np.float32(0.5), 2],
    "restart": [0, 0.5],
    "seed": [np.uint8(3)],
    "bool": [False, True],
}


def marked(name):
    """Return the name of an algorithm. The options of programs compile more kernels than those of others."""
    return pytest.param(name, marks=[pytest.mark.slow] * (name not in registry.names_with_kernels()))


@pytest.mark.parametrize("name", [marked(name) for name in ALGORITHMS])
def test_every_option_of_an_algorithm_is_verified(name):
    weights = np.array([1.0, 2.0, 0.5, 4.0, 1.0])
    graph = ev.Graph.from_edges([0, 1, 2, 0, 4], [1, 2, 3, 2, 5], weights, directed=False, n=8)
    spec = registry.find(name)
    others = [] if spec.source_option is None and name not in ("bfs", "sssp") else ["sources"]
    names = {option.name: option for option in spec.options} | dict.fromkeys(others)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ev.ConvergenceWarning)
        for option, declared in names.items():
            if name in APPROACHED and option in ("tol", "max_iter"):
                continue  # a verifier may refuse values that have not converged
            known = declared.choices if declared is not None and declared.choices else None
            for value in known or VALUES.get(option) or VALUES[declared.type]:
                own = {"source": None} if option == "sources" and name in ("bfs", "sssp") else {}
                result = run(name, graph, **{**own, option: value})
                ev.verify(result)
                if not getattr(result, "rows", None):
                    ev.verify(claim_of(result))
                    given = {**result.parameters, **own} | ({} if value is None else {option: value})
                    ev.verify(Claim(name, graph, claim_of(result).arrays, given, result.outcome))


@pytest.mark.parametrize(
    ("name", "parameters", "other"),
    [
        ("bfs", {"source": 0}, {"source": 1}),
        ("bfs", {"source": 0}, {"source": [0, 4]}),
        ("bfs", {"sources": [0, 4]}, {"source": 0}),
        ("bfs", {"source": 0, "cutoff": 1}, {"cutoff": None}),
        ("bfs", {"source": 0, "cutoff": 1}, {"cutoff": 0}),
        ("bfs", {"source": 0, "cutoff": 1}, {"cutoff": np.inf}),
        ("bfs", {"source": 0, "target": 1}, {"target": None}),
        ("bfs", {"source": 0}, {"target": 1}),
        ("sssp", {"source": 0}, {"source": 1}),
        ("sssp", {"source": 0}, {"cutoff": 1}),
        ("sssp", {"source": 0, "cutoff": 1.0}, {"cutoff": np.inf}),
        ("sssp", {"source": 0, "target": 1}, {"target": None}),
        ("pagerank", {}, {"damping": 0.8}),
        ("pagerank", {}, {"weights": False}),
        ("pagerank", {}, {"personalization": {1: 1}}),
        ("betweenness", {}, {"sources": [0, 1]}),
        ("betweenness", {"sources": [0, 1]}, {"sources": [0, 2]}),
        ("betweenness", {}, {"normalized": False}),
        ("cdlp", {"max_iter": 1}, {"max_iter": 0}),
        ("k_core", {"k": 2}, {"k": 1}),
    ],
)
def test_an_answer_to_other_arguments_is_refused(name, parameters, other):
    weights = np.array([1.0, 2.0, 0.5, 4.0, 1.0])
    graph = ev.Graph.from_edges([0, 1, 2, 0, 4], [1, 2, 3, 2, 5], weights, directed=False, n=8)
    result = (
        run(name, graph, **parameters)
        if "sources" not in parameters or name == "betweenness"
        else (registry.find(name).function()(graph, on="cpu:1", **parameters))
    )
    with pytest.raises(VerificationError):
        ev.verify(Claim(name, graph, claim_of(result).arrays, {**result.parameters, **other}, result.outcome))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_arguments_that_the_algorithm_refuses(name):
    graph = ev.Graph.from_edges([0, 1, 2, 0, 4], [1, 2, 3, 2, 5], directed=False, n=8)
    result = run(name, graph)
    arrays, spec = claim_of(result).arrays, registry.find(name)
    with pytest.raises(ArgumentError, match="found 'no such option'"):
        ev.verify(Claim(name, graph, arrays, {**result.parameters, "no such option": 1}))
    for wrong in ({"parameters": 3}, {"outcome": [1]}, {"arrays": [1]}, {"graph": nx.path_graph(3)}):
        form = {"graph": graph, "arrays": arrays, "parameters": result.parameters, "outcome": result.outcome}
        with pytest.raises(ArgumentError):
            ev.verify(Claim(name, **{**form, **wrong}))
    for option in spec.options:
        for value in ("{a}", b"\0", 1j, [{}], {"a": "b"}, object(), np.nan):
            with pytest.raises((ArgumentError, VerificationError)):
                ev.verify(
                    Claim(name, graph, arrays, {**result.parameters, option.name: value}, result.outcome)
                )
    assert set(result.parameters) <= {*inspect.signature(spec.function()).parameters}


def test_integers_beyond_the_precision_of_the_distances():
    """Integers are exact below 2^53, and distances beyond are refused."""
    weights = np.array([1 << 60, 1], np.int64)
    graph = ev.Graph.from_edges([0, 1], [1, 2], weights)
    right = {"distance": [0, 1 << 60, (1 << 60) + 1], "parent": np.array([0, 0, 1])}
    with pytest.raises(VerificationError, match="below 2\\^53"):
        ev.verify(Claim("sssp", graph, right, {"source": 0}))
    near = ev.Graph.from_edges([0, 1], [1, 2], np.array([1 << 51, 1], np.int64))
    for off in (-1, 1):
        wrong = np.array([0.0, 1 << 51, (1 << 51) + 1 + off])
        with pytest.raises(VerificationError):
            ev.verify(Claim("sssp", near, {"distance": wrong, "parent": np.array([0, 0, 1])}, {"source": 0}))


@pytest.mark.parametrize(
    "outcome", [{"iterations": -1}, {"iterations": 2.5}, {"iterations": "{a}"}, {"iterations": np.nan}]
)
def test_a_recorded_number_of_iterations_that_is_none(outcome):
    result = run("pagerank", ev.Graph.from_edges([0, 1], [1, 2]))
    with pytest.raises(ArgumentError, match="iterations"):
        ev.verify(Claim("pagerank", result.graph, claim_of(result).arrays, result.parameters, outcome))
