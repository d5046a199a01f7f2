"""An algorithm from outside the package: the worked example, and errors of faulty kernels."""

from __future__ import annotations

import doctest
import re
from importlib import import_module
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from cupy.cuda import nvrtc
from hypothesis import given, settings
from hypothesis import strategies as st

import evener as ev
from evener.elements.cuda import launch
from evener.elements.cuda.compile import compiled
from evener.elements.cuda.element import CudaElement
from evener.elements.cuda.source import OwnSource, declaration, declarations, declared_in
from evener.errors import DeviceError
from evener.kernels.cpu.atomics import fetch_add
from support import graphs, reference
from support.kcore_example import FOLDER, PROJECT, load, simple
from support.parity_cases import ALPHAS, POLICIES

PAGE = Path(__file__).resolve().parents[2] / "docs/howto/own-algorithm.md"
TRIANGLES = PROJECT.parent / "triangle_classes/src/evener_triangle_classes"
APART = [["apart:0", "apart:1"], ["late:0", "apart:1"], ["apart:0", "late:1", "late:1", "apart:2"]]


@pytest.fixture(scope="module")
def example():
    return load()


@pytest.fixture(scope="module")
def kcore(example):
    return example.kcore


# ---- k-core, beyond the contract that its package tests ------------------------------------------------


def test_supersteps_do_not_depend_on_the_split(kcore):
    """The removals of a superstep depend only on the counts at its start."""
    graph, _ = simple(graphs.SMALL["rmat"]())
    splits = [["cpu:1"] * elements for elements in (1, 2, 4)]
    assert len({kcore(graph, on=on, policy="random").timeline.supersteps for on in splits}) == 1


@settings(max_examples=30)
@given(
    drawn=graphs.drawn_graphs(),
    elements=st.sampled_from([1, 2, 4]),
    policy=st.sampled_from(POLICIES),
    alpha=st.sampled_from(ALPHAS),
)
def test_drawn_graphs(kcore, drawn, elements, policy, alpha):
    graph, expected = simple((*reference.edges(drawn), drawn.n))
    placed = ev.partition(graph, ["cpu:1"] * elements, policy=policy, alpha=alpha)
    assert kcore(placed)["core"].tolist() == expected


@pytest.mark.slow
@pytest.mark.parametrize("name", graphs.LARGE)
def test_large_graphs(kcore, name):
    graph, expected = simple(graphs.LARGE[name]())
    for on, policy in product((["cpu"], ["cpu:1"] * 2, ["cpu:1"] * 4), POLICIES):
        assert kcore(ev.partition(graph, on, policy=policy))["core"].tolist() == expected


@pytest.mark.parametrize("elements", [1, 2])
def test_the_empty_graph(kcore, elements):
    empty = graphs.build(graphs.SMALL["empty"](), directed=False)
    assert kcore(ev.partition(empty, ["cpu:1"] * elements))["core"].tolist() == []


def test_progress_and_active_vertices(kcore):
    graph, _ = simple(graphs.SMALL["rmat"]())
    reported = []
    r = kcore(ev.partition(graph, ["cpu:1"] * 2), progress=reported.append)
    assert [p.superstep for p in reported] == list(range(r.timeline.supersteps))
    # A vertex is active once, in the superstep after its removal.
    assert sum(step.active for step in r.timeline.by_superstep()) == graph.n


# ---- the kernels of k-core, and the page that shows them ---------------------------------------------


@pytest.mark.usefixtures("example")
@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
def test_the_examples_kernels_compile(arch, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert set(compiled(f"{FOLDER.name}:kernels", {}, arch).names) == {"peel", "decrement"}


@pytest.mark.parametrize("name", ["peel", "decrement"])
def test_both_files_declare_the_same_arguments(example, name):
    full = getattr(example.kernels, name)
    declared = declaration(full)
    given = [p.name for p in declared.parameters if p.kind not in launch._FILLED]
    code = getattr(import_module(f"{FOLDER.name}.kernels_cpu"), name).py_func.__code__
    assert given == list(code.co_varnames[: code.co_argcount])
    launch.Launcher(GPU, full.rpartition(".")[0], declared)


def test_the_page_shows_the_files_of_the_example():
    files = {
        path.name: path.read_text() for path in PROJECT.rglob("*") if path.suffix in (".py", ".cu", ".toml")
    }
    files |= {f"{path.parent.name}/{path.name}": path.read_text() for path in TRIANGLES.glob("*.[pc][yu]")}
    blocks = re.findall(r'^```\w+ title="(.*?)"\n(.*?)^```$', PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert {title for title, _ in blocks} == files.keys()
    for title, block in blocks:
        inside = "".join(f"    {line}" if line.strip() else line for line in block.splitlines(keepends=True))
        assert block in files[title] or inside in files[title], title


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
def test_the_kernel_of_triangles_compiles(arch, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert set(compiled(OwnSource.read(TRIANGLES / "classes.cu"), {}, arch).names) == {"count_classes"}


def test_the_triangles_of_the_page(monkeypatch):
    """The package finds the triangles that `ev.triangles` counts, in under 60 lines of code."""
    monkeypatch.syspath_prepend(str(TRIANGLES.parent))
    package = import_module(TRIANGLES.name)
    graph = ev.read("rmat:8")
    found = {
        tuple(package.triangle_classes(graph, on=["cpu:1"] * elements)["triangles"].tolist())
        for elements in (1, 3)
    }
    assert len(found) == 1
    assert sum(*found) == ev.triangles(graph).outcome["triangles"]
    lines = [
        line
        for path in TRIANGLES.glob("*.[pc][yu]")
        for line in path.read_text().splitlines()
        if line.strip()
    ]
    assert len(lines) < 60


# ---- a kernel ----------------------------------------------------------------------------------------


@pytest.fixture
def engine():
    engine = ev.Engine(ev.partition(ev.Graph.from_edges([0, 1, 2], [1, 2, 3]), ["cpu:1"] * 2), "test")
    engine.superstep("only")
    return engine


def counted(array):
    return len(array)


def test_a_plain_function_is_a_kernel_whose_votes_are_reduced(engine):
    kernel = ev.Kernel(cpu=counted)
    lengths = [p.owned for p in engine.partitions]
    assert engine.compute(kernel, engine.owned_array("int32")) == sum(lengths) == 4
    assert engine.compute(kernel, engine.owned_array("int32"), reduce=max) == max(lengths)
    assert engine.compute(kernel, engine.owned_array("int32"), reduce=list) == lengths


def test_a_plain_function_uses_no_atomics(engine):
    assert "may be a plain Python function without atomics" in " ".join(PAGE.read_text().split())

    def counts_together(count):
        fetch_add(count, 0, 1)

    with pytest.raises(NotImplementedError, match="not usable in pure-python"):
        engine.compute(ev.Kernel(cpu=counts_together), engine.counter())


@pytest.mark.parametrize("elements", [1, 2])
def test_votes_are_reduced_by_a_function(elements):
    engine = ev.Engine(ev.partition(ev.Graph.from_edges([0, 1], [1, 2]), ["cpu:1"] * elements), "test")
    with pytest.raises(ev.ArgumentError, match="expected a function as reduce=, such as min, found 'min'"):
        engine.compute(ev.Kernel(cpu=counted), engine.owned_array("int32"), reduce="min")


def test_kernels_with_equal_sides_are_equal():
    one, two = (ev.Kernel(cpu=counted, cuda="x.cu") for _ in range(2))
    assert one == two
    assert hash(one) == hash(two)
    assert one.name == "counted"
    assert one != ev.Kernel(cpu=counted, cuda="x.cu", name="other")
    assert ev.Kernel(cuda=Path("x.cu"), name="f").name == "f"


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({}, "give cpu=, cuda= or both"),
        ({"cpu": "peel"}, "cpu=: expected a function, found str"),
        ({"cpu": counted, "cuda": 3}, r"cuda=: expected the path of a \.cu file or a function, found int"),
        ({"cuda": "x.cu"}, "give name="),
    ],
)
def test_incomplete_kernels_are_refused(given, sentence):
    with pytest.raises(ev.ArgumentError, match=sentence):
        ev.Kernel(**given)


def test_the_examples_in_the_docstring():
    failed, tried = doctest.testmod(import_module("evener.kernels.kernel"))
    assert (failed, tried > 0) == (0, True)


def test_a_missing_side_is_an_error_only_when_needed(engine):
    kernel = ev.Kernel(cuda="nowhere.cu", name="peel")
    with pytest.raises(ev.ArgumentError, match=r'"peel" has no side for the element "cpu:1#0".*give.* cpu='):
        engine.compute(kernel)
    with pytest.raises(
        ev.ArgumentError, match=r'"counted" has no side for the element "cuda:0".*give.* cuda='
    ):
        ev.Kernel(cpu=counted).side("cuda", "cuda:0")
    assert kernel.side("cuda", "cuda:0") == "nowhere.cu"


def test_a_function_is_not_accepted_as_a_kernel(engine):
    with pytest.raises(
        ev.ArgumentError, match=r"expected a Kernel, found function; .*evener\.Kernel\(cpu=function\)"
    ):
        engine.compute(counted, engine.owned)


def test_a_graph_that_is_not_placed_is_refused():
    with pytest.raises(
        ev.ArgumentError, match=r"expected a PartitionedGraph, found evener\.Graph; .*evener\.partition"
    ):
        ev.Engine(ev.Graph.from_edges([0], [1]), "test")


@pytest.mark.parametrize("op", ["sum", "set", None])
@pytest.mark.parametrize("elements", [1, 2])
def test_an_unknown_reduction_is_refused(op, elements):
    engine = ev.Engine(ev.partition(ev.Graph.from_edges([0, 1], [1, 2]), ["cpu:1"] * elements), "test")
    with pytest.raises(ev.ArgumentError, match='"set" with changed=, found'):
        engine.push(engine.array("int32", 0), op)


def test_each_partition_gets_its_part_of_a_partitioned_array(engine):
    seen = []
    engine.compute(
        ev.Kernel(cpu=lambda mine, same: seen.append((mine, same))), ev.PartitionedArray([3, 4]), 5
    )
    assert sorted(seen) == [(3, 5), (4, 5)]


# ---- a user's .cu file -------------------------------------------------------------------------------


GOOD = '#include "common.cuh"\n\n__global__ void PARALLEL(256) fill(Array<u32> array, u32 value) {\n%s}\n'


@pytest.fixture
def written(tmp_path, monkeypatch):
    """A function that writes a text to ``own.cu`` and reads it as the source of a kernel."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "own").mkdir()

    def write(text):
        path = tmp_path / "own" / "own.cu"
        path.write_text(text)
        return OwnSource.read(path)

    return write


@pytest.fixture
def compilations(monkeypatch):
    """A list with the arguments of each NVRTC compilation."""
    asked = []
    compile_program = nvrtc.compileProgram
    monkeypatch.setattr(
        nvrtc, "compileProgram", lambda *given: asked.append(given) or compile_program(*given)
    )
    return asked


def test_a_file_is_compiled_again_only_when_it_changes(written, compilations):
    first = compiled(written(GOOD % ""), {}, "sm_90")
    assert list(first.names) == ["fill"]
    assert compiled(written(GOOD % ""), {}, "sm_90") == first
    assert len(compilations) == 1
    compiled(written(GOOD % "    array[0] = value;\n"), {}, "sm_90")
    assert len(compilations) == 2


def test_compiler_errors_name_the_lines_of_the_file(written):
    with pytest.raises(DeviceError) as caught:
        compiled(written(GOOD % "    array[0] = valeu;\n"), {}, "sm_90")
    assert str(caught.value).startswith("own.cu does not compile for sm_90:\n")
    assert re.search(r'own\.cu\(4\): error: identifier "valeu" is undefined', str(caught.value))


def test_headers_next_to_the_file_come_first(written, tmp_path):
    (tmp_path / "own" / "deep").mkdir()
    (tmp_path / "own" / "rows.cuh").write_text(
        '#pragma once\n#include "deep/more.cuh"\n#include "common.cuh"\n'
    )
    (tmp_path / "own" / "deep" / "more.cuh").write_text("constexpr int OWN = 1;\n")
    text = '  # include "rows.cuh"  // ours\n#include "rows.cuh"\n#include "edges.cuh"\n#include <own.cuh>\n'
    file = written(text + "this_line\n")
    assert file.text.count("constexpr int OWN = 1;") == file.text.count("struct Bits {") == 1
    assert "over_rows" not in file.text
    assert "struct EdgeLoop {" in file.text
    assert "#include <own.cuh>" in file.text  # left for the compiler
    lines = file.text.splitlines()
    marks = [line for line in lines[: lines.index("this_line")] if line.startswith("#line")]
    assert marks[-1] == '#line 4 "own.cu"'


def test_a_missing_header_is_refused(written):
    with pytest.raises(ev.FileError, match=r'own\.cu: the header "roes\.cuh" is neither.*"edges\.cuh"'):
        written('#include "roes.cuh"\n')


def test_an_unreadable_file_is_refused(tmp_path):
    with pytest.raises(ev.FileError, match=r"cannot read .*nowhere\.cu: No such file"):
        OwnSource.read(tmp_path / "nowhere.cu")
    (tmp_path / "latin.cu").write_bytes(b"// \xe9t\xe9\n")
    with pytest.raises(ev.FileError, match=r"cannot read .*latin\.cu: .*utf-8"):
        OwnSource.read(tmp_path / "latin.cu")


def test_a_missing_kernel_is_refused(written):
    with pytest.raises(ev.ArgumentError, match=r'own\.cu: expected a kernel "fil", found fill'):
        declared_in(written(GOOD % ""), "fil")
    with pytest.raises(
        ev.ArgumentError, match=r'found no kernel; .*"__global__ void PARALLEL\(256\) fill\("'
    ):
        declared_in(written("__global__ void fill() {}\n"), "fill")


def test_a_gpu_loads_a_kernel_from_its_file():
    gpu = CudaElement.__new__(CudaElement)
    gpu.name, gpu._kernels = "cuda:0", {}
    kernel = ev.Kernel(cpu=counted, cuda=str(FOLDER / "kernels.cu"), name="peel")
    taken = gpu.kernel(kernel)
    assert taken._name == "kernels.peel"
    assert gpu.kernel(ev.Kernel(cpu=counted, cuda=str(FOLDER / "kernels.cu"), name="peel")) is taken
    assert gpu.kernel("bits.copy")._name == "bits.copy"
    assert gpu.kernel(ev.Kernel(cuda=counted)) is counted  # a function launches its kernels itself
    with pytest.raises(ev.ArgumentError, match=r'"counted" has no side for the element "cuda:0"'):
        gpu.kernel(ev.Kernel(cpu=counted))


class Gpu:
    """A GPU for launchers that check declarations and run no kernel."""

    name = "cuda:0"
    index = 0


GPU = Gpu()


def launcher(written, parameters, before="", how="PARALLEL(256)"):
    file = written(f'#include "common.cuh"\n{before}__global__ void {how} f({parameters}) {{}}\n')
    return launch.Launcher(GPU, file, declarations(file)["f"])


@pytest.mark.parametrize(
    "parameters",
    [
        "",
        "u32 level",
        "Array<const u32> degree,  // of each vertex, mirrors too\n    /* a, b */ double x, Bits flags",
        "Tiered<u32> targets, Results<u64, double> results, Grid grid, Shared shared",
    ],
)
def test_supported_parameters(written, parameters):
    names = re.findall(r"(\w+)(?=,|$)", re.sub(r"//.*|/\*.*?\*/|<[^>]*>", "", parameters), re.MULTILINE)
    assert [p.name for p in declarations(launcher(written, parameters)._file)["f"].parameters] == names


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        (
            "const u32* degree",
            r'own\.f: the type of parameter "const u32\* degree" is not supported.*Array<T>',
        ),
        ("Array<u32>& degree", r'parameter "Array<u32>& degree"'),
        ("Array<long> degree", r'parameter "degree".*u8, u16, u32, u64, i8, i16, i32, i64, float, double'),
        ("int level", r'parameter "level"'),
        ("Bits<u32> flags", r'parameter "flags"'),
        ("Results<u32> results", r'parameter "results".*up to 5 u64 or double'),
        ("Results<> results", r'parameter "results".*up to 5 u64 or double'),
        ("Results<u64, u64, u64, u64, u64, u64> results", r'parameter "results"'),
        (
            "Results<u64> results, u32 level",
            "expected the parameters Results, .* last, found an argument after them",
        ),
    ],
)
def test_unsupported_parameters_are_refused(written, parameters, sentence):
    with pytest.raises(ev.ArgumentError, match=sentence):
        launcher(written, parameters)


def test_a_template_type_needs_an_array(written):
    launcher(written, "Array<const Value> values, Value most", "template <typename Value>\n")
    with pytest.raises(
        ev.ArgumentError,
        match=r"template of Value: expected a parameter Array<Value> or Tiered<Value>, found none",
    ):
        launcher(written, "Value most", "template <typename Value>\n")


@pytest.mark.parametrize("how", ["PARALLEL(48)", "PARALLEL(2048)", "BLOCK(0)"])
def test_blocks_are_made_of_warps_and_fit_a_multiprocessor(written, how):
    with pytest.raises(
        ev.ArgumentError,
        match=r"own\.f: expected PARALLEL or BLOCK with a multiple of 32 threads up to 1024, found \d+",
    ):
        launcher(written, "u32 level", how=how)


def test_an_edge_loop_has_blocks_of_256(written):
    launcher(written, "Grid grid, Pieces pieces")
    with pytest.raises(ev.ArgumentError, match=r"with Pieces .* expected PARALLEL\(256\), found 512 threads"):
        launcher(written, "Grid grid, Pieces pieces", how="PARALLEL(512)")


def test_wrong_arguments_of_a_call_are_refused(written):
    call = launcher(written, "u32 level, float share")
    for args in ((1,), (1, 2, 3)):
        with pytest.raises(
            ev.ArgumentError, match=rf"own\.f: expected 2 arguments \(level, share\), found {len(args)}"
        ):
            call(*args)
    for args, sentence in [
        ((-1, 0.5), "level: expected a number of type u32, found -1"),
        ((1, "x"), "share: expected a number of type float, found 'x'"),
    ]:
        with pytest.raises(ev.ArgumentError, match=rf"own\.f, argument {sentence}"):
            call(*args)
    with pytest.raises(
        DeviceError, match="argument a: expected an array of u32 on cuda:0, found ndarray of uint32"
    ):
        launcher(written, "Array<u32> a")(np.zeros(3, np.uint32))
    with pytest.raises(
        DeviceError, match="argument a: expected an array of i64 on cuda:0, found ndarray of int64"
    ):
        launcher(written, "Array<Value> a", "template <typename Value>\n")(np.zeros(3, np.int64))


# ---- elements with separate memories -----------------------------------------------------------------


@pytest.mark.usefixtures("apart_elements")
@pytest.mark.parametrize("on", APART, ids=",".join)
def test_elements_with_separate_memories(kcore, on):
    graph, expected = simple(graphs.SMALL["rmat"]())
    for policy in POLICIES:
        placed = ev.partition(graph, on, policy=policy, alpha=None)
        assert {route.mirror_partition for route in placed.routes} == set(range(len(on)))
        assert kcore(placed)["core"].tolist() == expected
