"""Which GPUs there are, why none can be used, and what `evener devices` says of it; no GPU is needed here."""

from __future__ import annotations

import json
import re
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import cupy
import pytest
from cupy.cuda import nvrtc, runtime

import evener as ev
from evener.elements import gpus, parse_elements, usable_cores
from evener.errors import ArgumentError, DeviceError

# CUDA's numbers for its errors.
STUB, INSUFFICIENT_DRIVER, UNAVAILABLE, NO_DEVICE, DRIVER_MISMATCH = 34, 35, 46, 100, 803


@pytest.fixture(autouse=True)
def asked_anew(monkeypatch):
    """No answer is left from before, or for later."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    gpus.missing.cache_clear()
    yield
    gpus.missing.cache_clear()


def answering(value):
    """A function that gives, or raises, always the same."""

    def answer(*_):
        if isinstance(value, Exception):
            raise value
        return value

    return answer


def driver(monkeypatch, *, gpus=1, knows=13000):
    """A driver that counts so many GPUs, or fails with an error; CuPy's CUDA is 13.2."""
    monkeypatch.setattr(runtime, "getDeviceCount", answering(gpus))
    monkeypatch.setattr(runtime, "driverGetVersion", answering(knows))
    monkeypatch.setattr(runtime, "runtimeGetVersion", answering(13020))


# ---- why none can be used ----------------------------------------------------------------------------


def no_cupy(monkeypatch, _):
    for name in [name for name in sys.modules if name.split(".")[0] in ("cupy", "cupy_backends")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "cupy", None)


def broken_cupy(monkeypatch, folder):
    """CuPy's message begins with a line of signs."""
    no_cupy(monkeypatch, folder)
    monkeypatch.delitem(sys.modules, "cupy")
    (folder / "cupy").mkdir()
    (folder / "cupy/__init__.py").write_text(
        "try:\n"
        "    raise ImportError('libstdc++.so.6: version GLIBCXX_3.4.29 not found')\n"
        "except ImportError as error:\n"
        "    raise ImportError('\\n====\\nFailed to import CuPy.\\n') from error\n"
    )
    monkeypatch.syspath_prepend(folder)


def no_driver(monkeypatch, _):
    driver(monkeypatch, gpus=runtime.CUDARuntimeError(INSUFFICIENT_DRIVER), knows=0)


def old_driver(monkeypatch, _):
    driver(monkeypatch, gpus=runtime.CUDARuntimeError(INSUFFICIENT_DRIVER), knows=12040)


def no_gpu(monkeypatch, _):
    driver(monkeypatch, gpus=runtime.CUDARuntimeError(NO_DEVICE))


def none_counted(monkeypatch, _):
    driver(monkeypatch, gpus=0)


def hidden(monkeypatch, _):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    driver(monkeypatch, gpus=runtime.CUDARuntimeError(NO_DEVICE))


def hidden_by_a_number(monkeypatch, _):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")
    driver(monkeypatch, gpus=runtime.CUDARuntimeError(NO_DEVICE))


def driver_and_kernel_differ(monkeypatch, _):
    driver(monkeypatch, gpus=runtime.CUDARuntimeError(DRIVER_MISMATCH))


def stub_driver(monkeypatch, _):
    driver(monkeypatch, gpus=runtime.CUDARuntimeError(STUB))


def unloadable_driver(monkeypatch, _):
    driver(monkeypatch, gpus=RuntimeError("CuPy failed to load libcuda.so.1: wrong ELF class\nmore"))


def another_cuda(monkeypatch, _):
    """CuPy 13 for CUDA 12 says it so, where CUDA 12's libraries are missing."""
    driver(monkeypatch)
    error = RuntimeError("CuPy failed to load libnvrtc.so.12: OSError: libnvrtc.so.12: no such file")
    monkeypatch.setattr(nvrtc, "getVersion", answering(error))


REASONS = {
    no_cupy: 'CuPy is not installed; pip install "evener[cuda13]"',
    broken_cupy: "CuPy cannot be loaded (libstdc++.so.6: version GLIBCXX_3.4.29 not found); "
    'pip install "evener[cuda13]" in an environment of its own',
    no_driver: "there is no NVIDIA driver; install one, or start this container with its GPUs",
    old_driver: "the NVIDIA driver is too old: it knows CUDA 12.4, and CuPy here needs 13; "
    "install a newer driver",
    no_gpu: "the NVIDIA driver shows no GPU; see whether nvidia-smi lists one",
    none_counted: "the NVIDIA driver shows no GPU; see whether nvidia-smi lists one",
    hidden: 'the NVIDIA driver shows no GPU, as CUDA_VISIBLE_DEVICES is ""; unset it or name a GPU',
    hidden_by_a_number: 'the NVIDIA driver shows no GPU, as CUDA_VISIBLE_DEVICES is "7"; '
    "unset it or name a GPU",
    driver_and_kernel_differ: "the NVIDIA driver answers with an error (cudaErrorSystemDriverMismatch: "
    "system has unsupported display driver / cuda driver combination); see whether nvidia-smi lists a GPU",
    stub_driver: "the NVIDIA driver answers with an error (cudaErrorStubLibrary: CUDA driver is a stub "
    "library); see whether nvidia-smi lists a GPU",
    unloadable_driver: "the NVIDIA driver answers with an error (CuPy failed to load libcuda.so.1: wrong ELF "
    "class); see whether nvidia-smi lists a GPU",
    another_cuda: "CUDA's run-time compiler cannot be loaded (CuPy failed to load libnvrtc.so.12: OSError: "
    'libnvrtc.so.12: no such file); pip install "evener[cuda13]" in an environment of its own',
}


@pytest.fixture(params=REASONS, ids=lambda case: case.__name__)
def why(request, monkeypatch, tmp_path):
    """On each machine that has no GPU to use, the reason."""
    request.param(monkeypatch, tmp_path)
    return REASONS[request.param]


def test_the_reason_is_one_clause(why):
    assert gpus.missing() == why
    assert gpus.gpus() == 0
    assert gpus.all_gpus() == []
    assert gpus.versions() is None


def test_a_command_ends_with_one_sentence(why, evener):
    done = evener("run", "bfs", "rmat:4", "--on", "cuda:0")
    assert (done.status, done.out) == (2, "")
    assert done.err == f'evener: element "cuda:0" cannot be used: {why}\n'


def test_a_call_raises_one_sentence(why):
    graph = ev.read("rmat:4")
    with pytest.raises(DeviceError) as caught:
        ev.bfs(graph, on="cpu:1,cuda:0")
    assert str(caught.value) == f'element "cuda:0" cannot be used: {why}'
    with pytest.raises(ArgumentError) as caught:
        ev.bfs(graph, on="gpu")
    assert str(caught.value).endswith(f"and no GPU that can be used ({why})")


@pytest.mark.usefixtures("why")
def test_the_cpu_is_there_all_the_same(evener):
    assert [element.name for element in parse_elements(None)] == ["cpu"]
    assert evener("run", "bfs", "rmat:4").status == 0


def test_devices_says_it(why, evener):
    done = evener("devices")
    assert (done.status, done.err) == (0, "")
    assert f"\nNo GPU can be used: {why}.\n" in done.out
    told = json.loads(evener("devices", "--json").out)
    (cpu,) = told["elements"]
    assert (cpu["name"], cpu["threads"]) == ("cpu", usable_cores())
    assert (told["gpus"], told["versions"], told["no_gpu"]) == ([], None, why)


def test_without_cupy_a_process_of_its_own_says_it_soon(apart):
    script = "import sys; sys.modules['cupy'] = None; from evener.cli import main; sys.exit(main({!r}))"
    done = apart("-c", script.format(["devices"]), timeout=30)
    assert (done.status, done.err) == (0, "")
    assert f"No GPU can be used: {REASONS[no_cupy]}." in done.out
    done = apart("-c", script.format(["run", "bfs", "rmat:4", "--on", "cuda:0"]), timeout=60)
    assert done.status == 2
    assert done.err.endswith(f'evener: element "cuda:0" cannot be used: {REASONS[no_cupy]}\n')


# ---- which there are ---------------------------------------------------------------------------------

H200 = {
    "name": b"NVIDIA H200",
    "totalGlobalMem": 140 << 30,
    "major": 9,
    "minor": 0,
    "multiProcessorCount": 132,
}
V100 = {
    "name": b"Tesla V100",
    "totalGlobalMem": 16 << 30,
    "major": 7,
    "minor": 0,
    "multiProcessorCount": 80,
}


@pytest.fixture
def machine(monkeypatch):
    """An H200, an old GPU, and an H200 that another process keeps to itself; no management library."""
    kept = runtime.CUDARuntimeError(UNAVAILABLE)
    current = []
    monkeypatch.setattr(cupy.cuda, "Device", lambda index: nullcontext(current.append(index)))
    monkeypatch.setattr(runtime, "getDeviceProperties", [H200, V100, H200].__getitem__)
    monkeypatch.setattr(runtime, "deviceGetPCIBusId", "0000:{:02}:00.0".format)
    monkeypatch.setattr(
        runtime, "memGetInfo", lambda: answering(kept)() if current[-1] == 2 else (138 << 30, 140 << 30)
    )
    monkeypatch.setattr(nvrtc, "getVersion", answering((13, 4)))
    monkeypatch.setattr(nvrtc, "getSupportedArchs", answering((75, 80, 90, 100)))
    monkeypatch.setattr(cupy, "__version__", "14.2.0")
    monkeypatch.setitem(sys.modules, "pynvml", None)
    driver(monkeypatch, gpus=3)


@pytest.mark.usefixtures("machine")
def test_devices_lists_gpus(evener):
    done = evener("devices")
    assert (done.status, done.err) == (0, "")
    lines = [line.split() for line in done.out.splitlines()]
    assert ["cuda:0", "NVIDIA", "H200", "138.0", "GiB", "140.0", "GiB", "9.0", "132", "-"] in lines
    assert ["cuda:1", "Tesla", "V100", "-", "16.0", "GiB", "7.0", "80", "-"] in lines
    assert (
        "cuda:1 cannot be used: this GPU's compute capability is 70; the CUDA toolkit here needs 75 or newer."
    ) in done.out
    assert (
        "cuda:2 cannot be used: cudaErrorDevicesUnavailable: CUDA-capable device(s) is/are busy" in done.out
    )
    assert "The driver knows CUDA 13.0; CuPy 14.2.0 is built with 13.2, and compiles with 13.4." in done.out
    assert "cpu,cuda:0" in done.out


@pytest.mark.usefixtures("machine")
def test_devices_lists_gpus_for_programs(evener):
    told = json.loads(evener("devices", "--json").out)
    assert [one["name"] for one in told["elements"]] == ["cpu", "cuda:0"]
    assert told["elements"][1]["available_bytes"] == 138 << 30
    assert told["gpus"][0] == {
        "element": "cuda:0",
        "name": "NVIDIA H200",
        "free_bytes": 138 << 30,
        "total_bytes": 140 << 30,
        "compute_capability": "9.0",
        "multiprocessors": 132,
        "power_limit_watts": None,
        "problem": None,
    }
    assert [one["free_bytes"] for one in told["gpus"][1:]] == [None, None]
    assert told["no_gpu"] is None
    assert told["versions"] == {
        "driver": None,
        "driver_cuda": "13.0",
        "cuda": "13.2",
        "compiler": "13.4",
        "cupy": "14.2.0",
    }


@pytest.mark.usefixtures("machine")
def test_the_management_library_adds_what_it_knows(evener, monkeypatch):
    """It counts all GPUs, also those that CUDA is not shown: what they share is their place on the bus."""
    limits = {"0000:00:00.0": 700_000, "0000:02:00.0": 400_000}
    library = SimpleNamespace(
        nvmlInit=answering(None),
        nvmlShutdown=answering(None),
        nvmlSystemGetDriverVersion=answering("580.65.06"),
        nvmlDeviceGetHandleByPciBusId=lambda bus: bus,
        nvmlDeviceGetPowerManagementLimit=limits.__getitem__,
    )
    monkeypatch.setitem(sys.modules, "pynvml", library)
    told = json.loads(evener("devices", "--json").out)
    assert [one["power_limit_watts"] for one in told["gpus"]] == [700, None, 400]
    assert told["versions"]["driver"] == "580.65.06"
    out = evener("devices").out
    assert "700 W" in out
    assert "Driver 580.65.06 knows CUDA 13.0;" in out


@pytest.mark.parametrize("when", ["nvmlInit", "nvmlSystemGetDriverVersion"])
@pytest.mark.usefixtures("machine")
def test_a_management_library_that_fails_is_left_out(evener, monkeypatch, when):
    """All of its functions but the one that lets go of it."""
    broken = answering(OSError("libnvidia-ml.so.1: cannot open shared object file"))
    library = SimpleNamespace(nvmlInit=answering(None), nvmlShutdown=answering(None))
    setattr(library, when, broken)
    monkeypatch.setitem(sys.modules, "pynvml", library)
    told = json.loads(evener("devices", "--json").out)
    assert len(told["gpus"]) == 3
    assert told["versions"]["driver"] is None


@pytest.mark.usefixtures("machine")
def test_a_gpu_that_tells_nothing_is_listed_with_the_reason(evener, monkeypatch):
    monkeypatch.setattr(runtime, "getDeviceProperties", answering(runtime.CUDARuntimeError(UNAVAILABLE)))
    told = json.loads(evener("devices", "--json").out)
    assert [one["name"] for one in told["elements"]] == ["cpu"]
    assert [one["name"] for one in told["gpus"]] == [None] * 3
    done = evener("devices")
    assert done.status == 0
    assert done.out.count("cannot be used: cudaErrorDevicesUnavailable") == 3


@pytest.mark.parametrize(("count", "there"), [(1, "one GPU, cuda:0"), (4, "cuda:0 to cuda:3")])
def test_a_gpu_that_is_not_there(evener, monkeypatch, count, there):
    driver(monkeypatch, gpus=count)
    sentence = f'element "cuda:{count}" does not exist; this machine has {there}'
    with pytest.raises(ArgumentError) as caught:
        parse_elements(f"cpu:1,cuda:{count}")
    assert str(caught.value) == sentence
    done = evener("run", "bfs", "rmat:4", "--on", f"cuda:{count}")
    assert (done.status, done.out, done.err) == (2, "", f"evener: {sentence}\n")


# ---- what the documentation says of it ---------------------------------------------------------------


@pytest.mark.parametrize("reason", REASONS.values(), ids=[case.__name__ for case in REASONS])
def test_every_reason_is_in_the_troubleshooting_table(reason):
    page = Path(__file__).parent.parent / "docs/howto/gpu.md"
    sentences = re.findall(r"^\| `(.*?)` \|", page.read_text(), re.MULTILINE)
    patterns = [re.escape(sentence).replace("…", ".*") for sentence in sentences]
    assert [pattern for pattern in patterns if re.fullmatch(pattern, reason)]
