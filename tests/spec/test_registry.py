"""The registry finds algorithms by name, in Evener's folders and in entry points of other packages."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import evener as ev
from evener.spec import registry
from support.kcore_example import load, register

HOME = Path(ev.__file__).parent


# ---- built-in algorithms ---------------------------------------------------------------------------------


def test_names_imports_no_algorithm(apart):
    listing = "from evener.spec.registry import names; names(); "
    done = apart("-c", listing + "import json, sys; print(json.dumps([*sys.modules]))")
    assert (done.status, done.err) == (0, "")
    imported = set(json.loads(done.out))
    assert imported & {f"evener.algorithms.{name}" for name in registry.names_with_kernels()} == set()
    assert imported & {"numba", "pyarrow", "scipy", "cupy"} == set()


def test_the_folders_are_algorithms():
    names = registry.names_with_kernels()
    assert {"betweenness", "bfs", "pagerank", "sssp", "wcc"} <= set(names)
    assert set(names) <= set(registry.names()) & set(ev.__all__)


@pytest.mark.parametrize("name", registry.builtin_names())
def test_a_spec_names_functions_that_exist(name):
    spec = registry.find(name)
    assert spec.name == name
    assert spec.function() is getattr(ev, name)
    assert callable(spec.verifier())


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("pagernak", "did you mean 'pagerank'?"),
        ("BFS", "did you mean 'bfs'?"),
        ("zzz", f"choose one of {', '.join(registry.builtin_names()[:3])}"),
        (3, f"choose one of {', '.join(registry.builtin_names()[:3])}"),
    ],
)
def test_an_unknown_name_gets_a_hint(name, hint):
    with pytest.raises(ev.ArgumentError) as caught:
        registry.find(name)
    assert str(caught.value).startswith(f"there is no algorithm {name!r}; {hint}")


def test_a_spec_without_a_verifier():
    with pytest.raises(ev.ArgumentError, match="bfs has no verifier"):
        replace(registry.find("bfs"), verify=None).verifier()


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("evener.nowhere:bfs", "No module named 'evener.nowhere'"),
        ("evener.algorithms.bfs.bfs:nothing", "has no function 'nothing'"),
        ("evener.algorithms.bfs.bfs", "has no function ''"),
        (":bfs", "cannot import ':bfs'"),
    ],
)
def test_a_spec_that_names_no_function_is_a_bad_argument(path, message):
    spec = replace(registry.find("bfs"), run=path, verify=path)
    for resolve in (spec.function, spec.verifier):
        with pytest.raises(ev.ArgumentError, match=message):
            resolve()


# ---- entry points of other packages --------------------------------------------------------------------


def test_an_entry_point_is_an_algorithm(monkeypatch):
    kcore = load().kcore
    register(monkeypatch, {"kcore": "evener_kcore:SPEC"})
    assert "kcore" in registry.names()
    assert registry.find("kcore").function() is kcore
    with pytest.raises(ev.ArgumentError, match="did you mean 'kcore'"):
        registry.find("k-core")


def test_entry_points_are_read_from_the_installed_packages(monkeypatch):
    points = [EntryPoint(name, "evener_kcore:SPEC", registry.GROUP) for name in ("bfs", "kcore")]
    monkeypatch.setattr(
        "importlib.metadata.entry_points", lambda *, group: points * (group == registry.GROUP)
    )
    registry._registered.cache_clear()
    try:
        own = registry.builtin_names()
        assert registry.names() == sorted([*own, "kcore"])
        assert registry.find("bfs").run.startswith("evener.algorithms.bfs.")
    finally:
        registry._registered.cache_clear()


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("no_such_package:SPEC", "cannot be loaded from 'no_such_package:SPEC'.*: No module named"),
        ("json:SPEC", "cannot be loaded from 'json:SPEC'.*: module 'json' has no attribute 'SPEC'"),
        ("json:dumps", "expected an AlgorithmSpec with the name 'other' in 'json:dumps'.*, found <function"),
        ("evener_kcore:SPEC", r"expected an AlgorithmSpec with the name 'other'.*, found .*name='kcore'"),
    ],
    ids=["no module", "no attribute", "no spec", "another name"],
)
def test_a_broken_entry_point_breaks_no_other_algorithm(monkeypatch, value, sentence):
    load()
    register(monkeypatch, {"other": value})
    assert "other" in registry.names()
    assert registry.find("bfs").name == "bfs"
    with pytest.raises(ev.ArgumentError, match=sentence):
        registry.find("other")


# ---- no other code names an algorithm --------------------------------------------------------------------


def words_in_code(source):
    """Yield the words of identifiers and strings, except docstrings, in lower case with their lines."""
    tree = ast.parse(source)
    scopes = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        node.body[0].value
        for node in ast.walk(tree)
        if isinstance(node, scopes) and ast.get_docstring(node) is not None
    }
    for node in ast.walk(tree):
        if node in docstrings:
            continue
        for _, value in ast.iter_fields(node):
            for text in value if isinstance(value, list) else [value]:
                if isinstance(text, str):
                    line = getattr(node, "lineno", 0)
                    yield from ((word.lower(), line) for word in re.split(r"[\W_]+", text))


# Defines the operators of known algorithms for `gimv` under the algorithms' names.
OPERATOR_SETS = HOME / "programs/operator_sets.py"
# Reads keys of a file format that name algorithms.
PROPERTIES = HOME / "graph/formats/graphalytics.py"


def test_no_code_outside_algorithms_names_one():
    names = registry.names_with_kernels()
    found = [
        (str(path.relative_to(HOME)), line, word)
        for path in HOME.rglob("*.py")
        if not path.is_relative_to(HOME / "algorithms") and path not in (OPERATOR_SETS, PROPERTIES)
        for word, line in words_in_code(path.read_text(encoding="utf-8"))
        if word in names
    ]
    assert found == []


def test_words_are_found():
    source = (
        '"""About bfs."""\n# wcc\nfrom evener.algorithms.sssp import run_bfs\n'
        'x = {"PageRank of a": run_bfs.tol}\n'
    )
    words = {word for word, _ in words_in_code(source)}
    assert words == {"evener", "algorithms", "sssp", "run", "bfs", "x", "pagerank", "of", "a", "tol"}


# ---- names of other libraries, and former names ----------------------------------------------------------


def test_the_names_of_other_libraries_lead_to_ours():
    expected = {
        "connected_components": "wcc",
        "dijkstra": "sssp",
        "betweenness_centrality": "betweenness",
        "breadth_first_search": "bfs",
    }
    for other, ours in expected.items():
        with pytest.raises(AttributeError, match=f"no attribute '{other}'; Evener names it '{ours}'"):
            getattr(ev, other)
        with pytest.raises(ev.ArgumentError, match=f"no algorithm '{other}'; Evener names it '{ours}'"):
            registry.find(other)


def test_no_two_algorithms_have_one_synonym():
    specs = [registry.find(name) for name in registry.builtin_names()]
    synonyms = [other for spec in specs for other in spec.synonyms]
    assert len(synonyms) == len({*synonyms})
    assert {*synonyms} & {*registry.names()} == set()


def test_a_former_name_works_with_a_warning():
    with pytest.warns(DeprecationWarning, match="'katz_centrality' is now named 'katz'"):
        assert ev.katz_centrality is ev.katz
    with pytest.warns(DeprecationWarning, match="'katz_centrality' is now named 'katz'"):
        assert registry.find("katz_centrality").name == "katz"
