"""Declarations and compilation of CUDA kernels, without a GPU.

The test extra installs CuPy and NVRTC.
"""

from __future__ import annotations

import ast
import inspect
import re
import shutil
import tempfile
import textwrap
from contextlib import nullcontext
from itertools import chain, cycle, product
from pathlib import Path

import pytest
from cupy.cuda import nvrtc

from evener.elements.cuda import compile as compiling
from evener.elements.cuda import launch, source
from evener.errors import DeviceError
from support.kernel_inventory import kernels


class Nowhere:
    """A GPU for launchers that check declarations and run no kernel."""


FOLDER = source._FOLDER
HOME = FOLDER.parents[1]
FILES = sorted(
    path.stem
    if path.parent == FOLDER
    else f"{'.'.join(path.parent.relative_to(HOME.parent).parts)}:{path.stem}"
    for path in HOME.rglob("*.cu")
    if path.parent.name != "programs"  # linked with operators: tests/programs/test_gpu_operators.py
)
DECLARED = {f"{file}.{name}": one for file in FILES for name, one in source.declarations(file).items()}
# Kernels of a group of GPUs have no twin: the engine does their work on other elements.
TWINS = {name: one for name, one in DECLARED.items() if all(p.kind != "Group" for p in one.parameters)}
CPU = kernels()
# Parameter kinds with an element type.
ARRAYS = {"Array", "Tiered"}

every_file = pytest.mark.parametrize("file", FILES)


def given(declaration):
    """Return the parameters that the CPU kernel also has."""
    return [p for p in declaration.parameters if p.kind not in launch._FILLED]


# ---- declarations ------------------------------------------------------------------------------------


def test_every_kernel_has_a_cpu_twin():
    assert set(TWINS) == set(CPU)


def test_kernels_without_a_twin_are_in_group_files():
    assert {kernel.rpartition(".")[0].rpartition(":")[2] for kernel in set(DECLARED) - set(TWINS)} == {
        "group"
    }


def check_twins_have_equal_parameters(kernel):
    assert [p.name for p in given(DECLARED[kernel])] == list(
        inspect.signature(CPU[kernel].py_func).parameters
    )


def check_twins_return_equally_many_values(kernel):
    (function,) = ast.parse(textwrap.dedent(inspect.getsource(CPU[kernel].py_func))).body
    answers = [node.value for node in ast.walk(function) if isinstance(node, ast.Return)]
    answers = [answer for answer in answers if not isinstance(answer, ast.Call)]  # calls of other kernels
    counts = {len(a.elts) if isinstance(a, ast.Tuple) else int(a is not None) for a in answers} or {0}
    votes = [len(p.of) for p in DECLARED[kernel].parameters if p.kind == "Results"] or [0]
    assert counts == set(votes)


def check_parameters_of_the_launcher_come_last(kernel):
    parameters = list(DECLARED[kernel].parameters)
    assert parameters[: len(given(DECLARED[kernel]))] == given(DECLARED[kernel])
    filled = [p.kind for p in parameters if p.kind in launch._FILLED]
    assert len(filled) == len(set(filled))


def check_every_parameter_has_a_supported_type(kernel):
    declaration = DECLARED[kernel]
    scalars = {*source.SCALARS, *declaration.types}
    for parameter in given(declaration):
        if parameter.kind in ARRAYS:
            assert len(parameter.of) == 1
            assert parameter.of[0] in scalars
        else:
            assert parameter.kind in {"Bits", *scalars}
            assert parameter.of == ()
    # The launcher derives each template parameter from the dtype of an array.
    arrays = {parameter.of[0] for parameter in given(declaration) if parameter.kind in ARRAYS}
    assert set(declaration.types) <= arrays
    launch.Launcher(Nowhere(), kernel.rpartition(".")[0], declaration)


@pytest.mark.parametrize(
    "check",
    [
        check_twins_have_equal_parameters,
        check_twins_return_equally_many_values,
        check_parameters_of_the_launcher_come_last,
        check_every_parameter_has_a_supported_type,
    ],
    ids=lambda check: check.__name__[6:],
)
def test_every_declaration(check):
    for kernel in sorted(TWINS if "twins" in check.__name__ else DECLARED):
        check(kernel)


def as_written(file):
    """Return the kernels of a file with their parameter lists, found by matching brackets."""
    text = re.sub(
        r"//[^\n]*|\bSERIAL\b|\b(?:PARALLEL|BLOCK)\([\d, ]+\)", "", source.path_of(file).read_text()
    )
    found = {}
    for match in re.finditer(r"__global__\s+void\s+(\w+)\(", text):
        depth, end = 1, match.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        found[match[1]] = text[match.end() : end - 1]
    assert len(found) == text.count("__global__")
    return found


@every_file
def test_every_kernel_and_parameter_is_read(file):
    written = as_written(file)
    assert {f"{file}.{name}" for name in written} == {k for k in DECLARED if k.rpartition(".")[0] == file}
    for name, parameters in written.items():
        declaration = DECLARED[f"{file}.{name}"]
        listed = re.sub(r"<[^>]*>", "", parameters).split(",")
        assert [p.name for p in declaration.parameters] == [one.split()[-1] for one in listed]
        assert [p.kind for p in declaration.parameters] == [one.split()[-2] for one in listed]


# ---- compilation -------------------------------------------------------------------------------------

INTEGERS = ["u8", "u16", "u32", "u64"]
TYPES = {
    "Owner": ["u8", "u16"],
    "Rank": ["float", "double"],
    "Value": ["u32", "float", "double"],
    "Word": INTEGERS,
}
# Weights of 16 and 32 bits compile as those of 8 and 64 bits.
WEIGHTS = ["u8", "u64", "float", "double"]
# Pairs of distances and weights: 64-bit integer weights give floating-point distances.
DISTANCES = [*product(["u32"], ["u8", "u64"]), *product(["double"], ["u64", "float", "double"])]


def combinations(types):
    """Return the types that the algorithms use for the template parameters of a kernel."""
    if set(types) <= {"Distance", "Weight"} and types:
        pairs = [dict(zip(("Distance", "Weight"), pair, strict=True)) for pair in DISTANCES]
        return list({tuple(pair[t] for t in types): {t: pair[t] for t in types} for pair in pairs}.values())
    if set(types) == {"Rank", "Weight"}:
        return [{"Rank": "float", "Weight": w} for w in WEIGHTS] + [{"Rank": "double", "Weight": "float"}]
    if set(types) == {"Sum", "Weight"}:
        return [{"Sum": "u32", "Weight": w} for w in WEIGHTS] + [{"Sum": "double", "Weight": "double"}]
    return [dict(zip(types, choice, strict=True)) for choice in product(*(TYPES[t] for t in types))]


def kinds(file):
    """Return the combinations of types, once for each set of template parameters in a file."""
    parameters = sorted({tuple(sorted(one.types)) for one in source.declarations(file).values()})
    return [combinations(types) for types in parameters]


def compilations():
    """Yield the last types of each kind, the widest, for sm_90, and the first for sm_80 or sm_100 in turn."""
    other = cycle(["sm_80", "sm_100"])
    for file in FILES:
        for bounds in kinds(file):
            for bound, arch in ((bounds[-1], "sm_90"), (bounds[0], next(other))):
                words = "-".join([file, *(f"{t}={c}" for t, c in bound.items()), arch])
                yield pytest.param(file, bound, arch, id=words)


@pytest.fixture(scope="module")
def empty_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


def expected_names(file, types):
    return {n for n, one in source.declarations(file).items() if set(one.types) == set(types)}


@every_file
def test_every_combination_of_types_is_accepted(file):
    """Compile to intermediate code, which takes a tenth of the time of machine code."""
    bounds = [*chain(*kinds(file))]
    for bound, arch in [*product(bounds, ["sm_80"]), (bounds[0], "sm_90"), (bounds[0], "sm_100")]:
        binary = compiling._compile(file, bound, arch, "-dlto")
        assert set(binary.names) == expected_names(file, bound)


@pytest.mark.slow
@pytest.mark.usefixtures("empty_cache")
@pytest.mark.parametrize(("file", "types", "arch"), list(compilations()))
def test_compiles(file, types, arch):
    binary = compiling.compiled(file, types, arch)
    assert set(binary.names) == set(compiling.names_of(file, types)) == expected_names(file, types)
    assert binary.code.startswith(b"\x7fELF")
    for name in binary.names.values():
        assert name.encode() + b"\0" in binary.code


@pytest.mark.usefixtures("empty_cache")
def test_unknown_architectures_are_compiled_to_ptx():
    binary = compiling.compiled("bits", {}, "compute_90")
    assert re.search(rb"\.target sm_90\b", binary.code)
    for name in binary.names.values():
        assert f".entry {name}(".encode() in binary.code


@pytest.mark.parametrize(
    ("capability", "target"),
    [("75", "sm_75"), ("90", "sm_90"), ("91", "compute_90"), ("101", "compute_100"), ("999", "compute_120")],
)
def test_the_target_is_the_architecture_of_the_gpu_or_an_older_one(monkeypatch, capability, target):
    monkeypatch.setattr(nvrtc, "getSupportedArchs", lambda: [120, 75, 80, 90, 100])
    assert compiling.architecture(capability) == target


def test_gpus_older_than_the_toolkit_are_refused(monkeypatch):
    monkeypatch.setattr(nvrtc, "getSupportedArchs", lambda: [75, 80])
    with pytest.raises(DeviceError, match="compute capability 75 or higher, found 70"):
        compiling.architecture("70")


# ---- errors and the cache ----------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A copy of the sources that tests may change; call `forget` after a change."""
    copy = tmp_path / "sources"
    shutil.copytree(FOLDER, copy, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    monkeypatch.setattr(source, "_FOLDER", copy)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    forget()
    yield copy
    forget()


def forget():
    source.source_of.cache_clear()
    source.path_of.cache_clear()
    source.declarations.cache_clear()


@pytest.fixture
def runs(monkeypatch):
    """The options of each NVRTC compilation."""
    asked = []
    compile_program = nvrtc.compileProgram

    def noting(program, options):
        asked.append(options)
        return compile_program(program, options)

    monkeypatch.setattr(nvrtc, "compileProgram", noting)
    return asked


def kept(tmp_path):
    return sorted(path for path in (tmp_path / "cache").rglob("*") if path.is_file())


def test_an_error_has_the_file_and_the_message_of_nvrtc(folder):
    (folder / "broken.cu").write_text(
        '// A comment.\n#include "common.cuh"\n\n'
        "__global__ void PARALLEL(256) oops(Bits words, u64 n) {\n    words.half(0) = no_such_name;\n}\n"
    )
    with pytest.raises(DeviceError) as caught:
        compiling.compiled("broken", {}, "sm_90")
    message = str(caught.value)
    assert message.startswith("broken.cu does not compile for sm_90")
    assert "no_such_name" in message
    assert "undefined" in message
    assert re.search(r"broken\.cu\(5\): error", message)


def test_an_error_in_a_header_names_the_header(folder):
    header = folder / "common.cuh"
    lines = header.read_text().splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("constexpr u32 WARP"))
    lines[at] = "constexpr u32 WARP = no_such_number;"
    header.write_text("\n".join(lines) + "\n")
    with pytest.raises(DeviceError, match=rf"common\.cuh\({at + 1}\): error.*no_such_number"):
        compiling.compiled("bits", {}, "sm_90")


def test_errors_are_not_cached(folder, tmp_path, runs):
    (folder / "broken.cu").write_text("__global__ void SERIAL oops(u64 n) { nonsense }\n")
    for count in (1, 2):
        with pytest.raises(DeviceError):
            compiling.compiled("broken", {}, "sm_90")
        assert len(runs) == count
    assert kept(tmp_path) == []


@pytest.mark.usefixtures("folder")
def test_the_second_call_reads_the_cache(tmp_path, runs):
    first = compiling.compiled("bits", {}, "sm_90")
    assert len(runs) == 1
    assert compiling.compiled("bits", {}, "sm_90") == first
    forget()  # as in another process
    assert compiling.compiled("bits", {}, "sm_90") == first
    assert len(runs) == 1
    assert len(kept(tmp_path)) == 1


@pytest.mark.usefixtures("folder")
def test_each_architecture_and_type_has_an_entry(tmp_path, runs):
    codes = {
        compiling.compiled("evener.spec:goal", {"Distance": distance}, arch).code
        for distance, arch in product(["u32", "double"], ["sm_80", "sm_90"])
    }
    assert len(codes) == len(runs) == len(kept(tmp_path)) == 4


def test_a_changed_header_gives_another_entry(folder, tmp_path, runs):
    before = compiling.compiled("bits", {}, "sm_90")
    header = folder / "common.cuh"
    header.write_text(header.read_text() + "// changed\n")
    forget()
    assert compiling.compiled("bits", {}, "sm_90").names == before.names
    assert len(runs) == len(kept(tmp_path)) == 2


@pytest.mark.usefixtures("folder")
def test_another_nvrtc_gives_another_entry(tmp_path, runs, monkeypatch):
    compiling.compiled("bits", {}, "sm_90")
    monkeypatch.setattr(nvrtc, "getVersion", lambda: (99, 1))
    compiling.compiled("bits", {}, "sm_90")
    assert len(runs) == len(kept(tmp_path)) == 2


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("place", ["a file", "/proc/evener"])
def test_without_a_writable_cache_each_call_compiles(tmp_path, runs, monkeypatch, place):
    if place == "a file":
        (tmp_path / "taken").write_text("not a folder")
        place = tmp_path / "taken"
    monkeypatch.setenv("XDG_CACHE_HOME", str(place))
    first = compiling.compiled("bits", {}, "sm_90")
    assert compiling.compiled("bits", {}, "sm_90") == first
    assert len(runs) == 2


@pytest.mark.usefixtures("folder")
def test_without_a_home_directory_there_is_no_cache(tmp_path, runs, monkeypatch):
    """The temporary folder, where other users can write, is not used."""

    def nowhere():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", nowhere)
    monkeypatch.delenv("XDG_CACHE_HOME")
    (tmp_path / "shared").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "shared"))
    first = compiling.compiled("bits", {}, "sm_90")
    assert compiling.compiled("bits", {}, "sm_90") == first
    assert len(runs) == 2
    assert list((tmp_path / "shared").iterdir()) == []


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_an_interrupted_write_leaves_no_file(tmp_path, monkeypatch, error):
    def broken_off(*_):
        raise error

    for name in ("rename", "replace"):
        monkeypatch.setattr(Path, name, broken_off)
    with pytest.raises(KeyboardInterrupt) if error is KeyboardInterrupt else nullcontext():
        compiling.compiled("bits", {}, "sm_90")
    assert kept(tmp_path) == []


CORRUPT = {
    "empty": lambda whole: b"",  # noqa: ARG005 - some entries ignore `whole`
    "not ours": lambda whole: b"\x7fELF\xff\xfe" * 20,  # noqa: ARG005
    "cut in its first line": lambda whole: whole[:10],
    "a line of something else": lambda whole: b"[1, 2]\n" + whole.partition(b"\n")[2],
    "cut in the code": lambda whole: whole[: len(whole) // 2],
    "without its code": lambda whole: whole[: whole.index(b"\n") + 1],
    "other code": lambda whole: whole[:-100] + bytes(100),
}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("harm", CORRUPT)
def test_a_corrupt_entry_is_replaced(tmp_path, runs, harm):
    whole = compiling.compiled("bits", {}, "sm_90")
    (entry,) = kept(tmp_path)
    entry.write_bytes(CORRUPT[harm](entry.read_bytes()))
    assert compiling.compiled("bits", {}, "sm_90") == whole
    assert compiling.compiled("bits", {}, "sm_90") == whole
    assert len(runs) == 2
    assert kept(tmp_path) == [entry]


@pytest.mark.usefixtures("folder")
def test_a_folder_in_place_of_an_entry(tmp_path):
    whole = compiling.compiled("bits", {}, "sm_90")
    (entry,) = kept(tmp_path)
    entry.unlink()
    entry.mkdir()
    assert compiling.compiled("bits", {}, "sm_90") == whole


@pytest.mark.usefixtures("folder")
def test_a_failed_write_leaves_no_file(tmp_path, monkeypatch):
    """The disk is full when the entry is moved to its final name."""
    first = compiling.compiled("bits", {}, "sm_90")
    (entry,) = kept(tmp_path)
    entry.unlink()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(type(entry), "replace", full)
    assert compiling.compiled("bits", {}, "sm_90") == first
    assert kept(tmp_path) == []


def test_a_missing_nvrtc_is_an_error(monkeypatch):
    def absent():
        raise RuntimeError("Failed to load libnvrtc.so.13\nand so on")

    monkeypatch.setattr(nvrtc, "getVersion", absent)
    with pytest.raises(DeviceError, match=r"cannot be loaded \(Failed to load libnvrtc\.so\.13\); "):
        compiling.compiled("bits", {}, "sm_90")


def test_the_name_of_an_entry(folder, tmp_path):
    binary = compiling.compiled("bits", {}, "sm_90")
    (entry,) = kept(tmp_path)
    assert entry.name.startswith("bits-sm_90-")
    assert folder not in entry.parents
    head, _, code = entry.read_bytes().partition(b"\n")
    assert code == binary.code
    for name in binary.names.values():
        assert name in head.decode()
