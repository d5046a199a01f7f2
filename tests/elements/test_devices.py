"""Discovery of GPUs, the reasons why no GPU is usable, and `evener devices`, without a GPU."""

from __future__ import annotations

import json
import re
import sys
import weakref
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import cupy
import numpy as np
import pytest
from cupy.cuda import nvrtc, runtime

import evener as ev
from evener.elements import parse_elements, usable_cores
from evener.elements.cuda import discovery as gpus
from evener.elements.cuda.device_errors import DeviceContext, failed
from evener.elements.cuda.element import CudaElement
from evener.elements.hardware import machine_facts
from evener.elements.pinned import locked_array, locked_words
from evener.errors import NO_USABLE_GPU, ArgumentError, DeviceError, DeviceOutOfMemory
from evener.system import memory

# Error numbers of CUDA.
NO_MEMORY, STUB, INSUFFICIENT_DRIVER, UNAVAILABLE, NO_DEVICE, LAUNCH_FAILURE = 2, 34, 35, 46, 100, 719
DRIVER_MISMATCH = 803


@pytest.fixture(autouse=True)
def clear_caches(monkeypatch):
    """Clear the cached answers before and after each test."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    for answer in (gpus.missing, gpus.gpus):
        answer.cache_clear()
    yield
    for answer in (gpus.missing, gpus.gpus):
        answer.cache_clear()


def answering(value):
    """Return a function that always returns, or raises, this value."""

    def answer(*_):
        if isinstance(value, Exception):
            raise value
        return value

    return answer


def driver(monkeypatch, *, gpus=1, knows=13000):
    """Fake a driver that reports this number of GPUs, or fails with this error; CuPy's CUDA is 13.2."""
    monkeypatch.setattr("evener.elements.cuda.discovery.driver_loads", lambda: True)
    monkeypatch.setattr(runtime, "getDeviceCount", answering(gpus))
    monkeypatch.setattr(runtime, "driverGetVersion", answering(knows))
    monkeypatch.setattr(runtime, "runtimeGetVersion", answering(13020))


# ---- why no GPU is usable ----------------------------------------------------------------------------


def no_cupy(monkeypatch, _):
    for name in [name for name in sys.modules if name.split(".")[0] in ("cupy", "cupy_backends")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "cupy", None)


def broken_cupy(monkeypatch, folder):
    """The first line of CuPy's message has no words."""
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


def raising(monkeypatch, folder, error):
    """Make the import of CuPy raise this error."""
    no_cupy(monkeypatch, folder)
    monkeypatch.delitem(sys.modules, "cupy")
    (folder / "cupy").mkdir()
    (folder / "cupy/__init__.py").write_text(f"raise {error}\n")
    monkeypatch.syspath_prepend(folder)


def no_cache(monkeypatch, folder):
    """The home directory belongs to another user."""
    raising(monkeypatch, folder, "PermissionError(13, 'Permission denied', '.cupy')")


def read_only(monkeypatch, folder):
    raising(monkeypatch, folder, "OSError(30, 'Read-only file system', '.cupy')")


def no_home(monkeypatch, folder):
    raising(monkeypatch, folder, "FileNotFoundError(2, 'No such file or directory', '.cupy')")


def no_library(monkeypatch, folder):
    raising(monkeypatch, folder, "OSError('libcuda.so.1: cannot open shared object file')")


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
    """CuPy 13 for CUDA 12 raises this error if CUDA 12's libraries are missing."""
    driver(monkeypatch)
    error = RuntimeError("CuPy failed to load libnvrtc.so.12: OSError: libnvrtc.so.12: no such file")
    monkeypatch.setattr(nvrtc, "getVersion", answering(error))


REASONS = {
    no_cupy: 'CuPy is not installed; pip install "evener[cuda13]"',
    broken_cupy: "CuPy cannot be loaded (libstdc++.so.6: version GLIBCXX_3.4.29 not found); "
    'pip install "evener[cuda13]" in an environment of its own',
    no_cache: "CuPy cannot be loaded ([Errno 13] Permission denied: '.cupy'); "
    "set CUPY_CACHE_DIR to a folder that you may write to",
    read_only: "CuPy cannot be loaded ([Errno 30] Read-only file system: '.cupy'); "
    "set CUPY_CACHE_DIR to a folder that you may write to",
    no_home: "CuPy cannot be loaded ([Errno 2] No such file or directory: '.cupy'); "
    "set CUPY_CACHE_DIR to a folder that you may write to",
    no_library: "CuPy cannot be loaded (libcuda.so.1: cannot open shared object file); "
    'pip install "evener[cuda13]" in an environment of its own',
    no_driver: "there is no NVIDIA driver; install one, or start this container with its GPUs",
    old_driver: "the NVIDIA driver is too old: CuPy needs CUDA 13, and the driver supports 12.4; "
    "install a newer driver",
    no_gpu: "the NVIDIA driver shows no GPU; check that nvidia-smi lists one",
    none_counted: "the NVIDIA driver shows no GPU; check that nvidia-smi lists one",
    hidden: 'the NVIDIA driver shows no GPU: CUDA_VISIBLE_DEVICES is ""; unset it or name a GPU',
    hidden_by_a_number: 'the NVIDIA driver shows no GPU: CUDA_VISIBLE_DEVICES is "7"; unset it or name a GPU',
    driver_and_kernel_differ: "the NVIDIA driver reports an error (cudaErrorSystemDriverMismatch: "
    "system has unsupported display driver / cuda driver combination); check that nvidia-smi lists a GPU",
    stub_driver: "the NVIDIA driver reports an error (cudaErrorStubLibrary: CUDA driver is a stub "
    "library); check that nvidia-smi lists a GPU",
    unloadable_driver: "the NVIDIA driver reports an error (CuPy failed to load libcuda.so.1: wrong ELF "
    "class); check that nvidia-smi lists a GPU",
    another_cuda: "CUDA's run-time compiler cannot be loaded (CuPy failed to load libnvrtc.so.12: OSError: "
    'libnvrtc.so.12: no such file); pip install "evener[cuda13]" in an environment of its own',
}


@pytest.fixture(params=REASONS, ids=lambda case: case.__name__)
def why(request, monkeypatch, tmp_path):
    """Fake a machine without a usable GPU, and return the reason."""
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
        ev.bfs(graph, source=0, on="cpu:1,cuda:0")
    assert str(caught.value) == f'element "cuda:0" cannot be used: {why}'
    with pytest.raises(ArgumentError) as caught:
        ev.bfs(graph, source=0, on="gpu")
    assert str(caught.value).endswith(f"and no usable GPU ({why})")


@pytest.mark.usefixtures("why")
@pytest.mark.parametrize("command", [("run",), ("verify",), ("bench", "--repeats", "1")], ids=" ".join)
def test_without_a_gpu_a_run_uses_the_cpu_without_a_warning(evener, command, caplog):
    done = evener(command[0], "bfs", "rmat:4", *command[1:])
    assert (done.status, done.err) == (0, "")
    result = ev.bfs(ev.read("rmat:4"), source=0)
    assert [element.name for element in result.partitioned.elements] == ["cpu"]
    assert caplog.messages == []


def test_devices_prints_the_reason(why, evener):
    done = evener("devices")
    assert (done.status, done.err) == (0, "")
    assert f"\nNo GPU can be used: {why}.\n" in done.out
    listed = json.loads(evener("devices", "--json").out)
    (cpu,) = listed["elements"]
    assert (cpu["name"], cpu["threads"]) == ("cpu", usable_cores())
    assert (listed["gpus"], listed["versions"], listed["no_gpu"]) == ([], None, why)


def test_without_cupy_a_separate_process_prints_the_reason(apart):
    script = "import sys; sys.modules['cupy'] = None; from evener.cli import main; sys.exit(main({!r}))"
    done = apart("-c", script.format(["devices"]))
    assert (done.status, done.err) == (0, "")
    assert f"No GPU can be used: {REASONS[no_cupy]}." in done.out
    done = apart("-c", script.format(["run", "bfs", "rmat:4", "--on", "cuda:0"]))
    assert done.status == 2
    assert done.err.endswith(f'evener: element "cuda:0" cannot be used: {REASONS[no_cupy]}\n')


@pytest.mark.parametrize(("status", "lost"), [(1, False), (9, False), (701, False), (700, True), (719, True)])
def test_a_refused_launch_does_not_lose_the_gpu(status, lost):
    """Wrong values, wrong shapes and too many registers are refused; an illegal address loses the GPU."""
    gpu = object.__new__(CudaElement)
    gpu.name, gpu._cupy = "cuda:0", cupy
    said = gpu.translate(runtime.CUDARuntimeError(status), "launching own.f", 0)
    assert type(said) is DeviceError
    assert str(said).startswith("cuda:0 failed while launching own.f: ")
    assert ("this process cannot use the GPU again" in str(said)) == lost


# ---- lists of GPUs -----------------------------------------------------------------------------------

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
    """An H200, an old GPU, and an H200 in exclusive use by another process; no management library."""
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
        "cuda:1 cannot be used: expected a GPU of compute capability 75 or higher, found 70; use another GPU "
        "or an older CUDA toolkit."
    ) in done.out
    assert (
        "cuda:2 cannot be used: cudaErrorDevicesUnavailable: CUDA-capable device(s) is/are busy" in done.out
    )
    assert (
        "The driver supports CUDA 13.0; CuPy 14.2.0 was built with 13.2 and compiles with 13.4." in done.out
    )
    assert "cpu,cuda:0" in done.out


@pytest.mark.usefixtures("machine")
def test_devices_lists_gpus_for_programs(evener):
    listed = json.loads(evener("devices", "--json").out)
    assert [one["name"] for one in listed["elements"]] == ["cpu", "cuda:0"]
    assert listed["elements"][1]["available_bytes"] == 138 << 30
    assert listed["gpus"][0] == {
        "element": "cuda:0",
        "name": "NVIDIA H200",
        "free_bytes": 138 << 30,
        "total_bytes": 140 << 30,
        "compute_capability": "9.0",
        "multiprocessors": 132,
        "power_limit_watts": None,
        "problem": None,
    }
    assert [one["free_bytes"] for one in listed["gpus"][1:]] == [None, None]
    assert listed["no_gpu"] is None
    assert listed["versions"] == {
        "driver": None,
        "driver_cuda": "13.0",
        "cuda": "13.2",
        "compiler": "13.4",
        "cupy": "14.2.0",
    }


@pytest.mark.usefixtures("machine")
def test_the_management_library_adds_power_limits_and_driver_version(evener, monkeypatch):
    """NVML also counts GPUs that CUDA does not show, so GPUs are matched by their PCI bus id."""
    limits = {"0000:00:00.0": 700_000, "0000:02:00.0": 400_000}
    library = SimpleNamespace(
        nvmlInit=answering(None),
        nvmlShutdown=answering(None),
        nvmlSystemGetDriverVersion=answering("580.65.06"),
        nvmlDeviceGetHandleByPciBusId=lambda bus: bus,
        nvmlDeviceGetPowerManagementLimit=limits.__getitem__,
    )
    monkeypatch.setitem(sys.modules, "pynvml", library)
    listed = json.loads(evener("devices", "--json").out)
    assert [one["power_limit_watts"] for one in listed["gpus"]] == [700, None, 400]
    assert listed["versions"]["driver"] == "580.65.06"
    out = evener("devices").out
    assert "700 W" in out
    assert "Driver 580.65.06 supports CUDA 13.0;" in out


@pytest.mark.parametrize("when", ["nvmlInit", "nvmlSystemGetDriverVersion"])
@pytest.mark.usefixtures("machine")
def test_a_management_library_that_fails_is_left_out(evener, monkeypatch, when):
    broken = answering(OSError("libnvidia-ml.so.1: cannot open shared object file"))
    library = SimpleNamespace(nvmlInit=answering(None), nvmlShutdown=answering(None))
    setattr(library, when, broken)
    monkeypatch.setitem(sys.modules, "pynvml", library)
    listed = json.loads(evener("devices", "--json").out)
    assert len(listed["gpus"]) == 3
    assert listed["versions"]["driver"] is None


@pytest.mark.usefixtures("machine")
def test_a_gpu_without_properties_is_listed_with_the_reason(evener, monkeypatch):
    monkeypatch.setattr(runtime, "getDeviceProperties", answering(runtime.CUDARuntimeError(UNAVAILABLE)))
    listed = json.loads(evener("devices", "--json").out)
    assert [one["name"] for one in listed["elements"]] == ["cpu"]
    assert [one["name"] for one in listed["gpus"]] == [None] * 3
    done = evener("devices")
    assert done.status == 0
    assert done.out.count("cannot be used: cudaErrorDevicesUnavailable") == 3
    assert "cpu:1,cpu:1" in done.out
    assert "cpu,cuda:0" not in done.out


@pytest.mark.parametrize(("count", "there"), [(1, "one GPU, cuda:0"), (4, "cuda:0 to cuda:3")])
def test_a_missing_gpu_is_refused(evener, monkeypatch, count, there):
    driver(monkeypatch, gpus=count)
    sentence = f'element "cuda:{count}" does not exist; this machine has {there}'
    with pytest.raises(ArgumentError) as caught:
        parse_elements(f"cpu:1,cuda:{count}")
    assert str(caught.value) == sentence
    done = evener("run", "bfs", "rmat:4", "--on", f"cuda:{count}")
    assert (done.status, done.out, done.err) == (2, "", f"evener: {sentence}\n")


# ---- GPUs that fail at the first use -------------------------------------------------------------------

LOST = (
    "cuda:0 failed while starting: cudaErrorLaunchFailure: unspecified launch failure; this process "
    'cannot use the GPU again; run in a new process, or with on="cpu"'
)
FULL = (
    "cuda:0: starting needs more memory, but 1.0 MiB are free; give the GPU a smaller share of the edges (a "
    'larger alpha), or run with on="cpu"'
)


NO_ROOM = 'cuda:0: CUDA has no memory left for starting; end other programs on this GPU, or run with on="cpu"'


class Device:
    """A device that answers all queries before the first allocation, as a failed GPU does."""

    compute_capability = "90"

    def __init__(self, index):
        self.index = index
        self.attributes = {
            "MultiProcessorCount": 132,
            "MaxSharedMemoryPerBlockOptin": 232448,
            "CanUseHostPointerForRegisteredMem": 1,
        }

    def __enter__(self):
        pass

    def use(self):
        pass

    def __exit__(self, *_):
        pass


@pytest.fixture
def in_trouble(machine, monkeypatch):  # noqa: ARG001 - fakes the GPUs
    """A function that makes the first allocation on a GPU raise an error."""
    monkeypatch.setattr(cupy.cuda, "Device", Device)
    monkeypatch.setattr(runtime, "memGetInfo", answering((1 << 20, 140 << 30)))
    monkeypatch.setattr(cupy, "get_default_memory_pool", lambda: SimpleNamespace(free_bytes=lambda: 0))
    return lambda error: monkeypatch.setattr(cupy, "zeros", answering(error))


@pytest.mark.parametrize(
    ("error", "kind", "sentence"),
    [
        (runtime.CUDARuntimeError(LAUNCH_FAILURE), DeviceError, LOST),
        (cupy.cuda.memory.OutOfMemoryError(1 << 19, 0), DeviceOutOfMemory, FULL),
        (runtime.CUDARuntimeError(NO_MEMORY), DeviceOutOfMemory, NO_ROOM),
    ],
    ids=["lost", "full", "fuller"],
)
def test_a_gpu_that_is_lost_or_full(evener, in_trouble, error, kind, sentence):
    in_trouble(error)
    with pytest.raises(kind) as caught:
        ev.bfs(ev.read("rmat:4"), source=0, on="cuda:0")
    assert str(caught.value) == sentence
    done = evener("run", "bfs", "rmat:4", "--on", "cuda:0")
    assert (done.status, done.out, done.err) == (2, "", f"evener: {sentence.replace('on=', '--on ')}\n")


def test_a_gpu_that_cannot_become_current(in_trouble, monkeypatch):
    """CUDA refuses all GPUs of a process after it has lost one of them."""
    in_trouble(None)
    monkeypatch.setattr(Device, "__enter__", answering(runtime.CUDARuntimeError(UNAVAILABLE)))
    sentence = (
        r"cuda:0 failed while starting: cudaErrorDevicesUnavailable: .*; this process cannot use the GPU"
    )
    with pytest.raises(DeviceError, match=f"^{sentence}"):
        parse_elements("cuda:0")
    with pytest.warns(RuntimeWarning, match=f"^{NO_USABLE_GPU}: {sentence.replace(':0', ':[0-2]', 1)}"):
        result = ev.bfs(ev.read("rmat:4"), source=0)
    assert [element.kind for element in result.partitioned.elements] == ["cpu"]


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        (nullcontext, DeviceError(f"trying: {UNAVAILABLE}")),
        (answering(runtime.CUDARuntimeError(LAUNCH_FAILURE)), DeviceError(f"trying: {LAUNCH_FAILURE}")),
        (answering(ValueError("another's")), ValueError("another's")),
    ],
    ids=["nothing", "a failure", "another's error"],
)
def test_an_error_at_the_exit_of_a_device_context(monkeypatch, inside, expected):
    """The first error is reported: that of the block, or else that of the exit."""

    def translate(error, doing, _):
        return DeviceError(f"{doing}: {error.status}") if hasattr(error, "status") else None

    monkeypatch.setattr(Device, "__exit__", answering(runtime.CUDARuntimeError(UNAVAILABLE)))
    guard = DeviceContext(Device(0), translate, "trying", 0, np.uint8)
    with pytest.raises(type(expected), match=f"^{expected}$"), guard:
        inside()


def test_if_all_gpus_are_lost_the_cpu_runs(evener, in_trouble):
    in_trouble(runtime.CUDARuntimeError(LAUNCH_FAILURE))
    with pytest.warns(RuntimeWarning, match=NO_USABLE_GPU):
        result = ev.bfs(ev.read("rmat:4"), source=0)
    assert [element.kind for element in result.partitioned.elements] == ["cpu"]
    done = evener("run", "bfs", "rmat:4")
    assert done.status == 0
    assert re.fullmatch(f"evener: {NO_USABLE_GPU}: cuda:[012] failed while starting: .*\n", done.err)


@pytest.mark.usefixtures("machine")
def test_gpus_are_counted_once(monkeypatch):
    """After a failure, CUDA may no longer count its GPUs."""
    assert gpus.gpus() == 3
    monkeypatch.setattr(runtime, "getDeviceCount", answering(runtime.CUDARuntimeError(LAUNCH_FAILURE)))
    assert gpus.gpus() == 3


@pytest.mark.usefixtures("machine")
def test_planning_fails_for_a_gpu_without_properties(monkeypatch):
    lost = answering(runtime.CUDARuntimeError(LAUNCH_FAILURE))
    monkeypatch.setattr(runtime, "getDeviceProperties", lost)
    with pytest.raises(
        DeviceError, match=r"^cannot read the properties of a GPU: cudaErrorLaunchFailure: .*on=\"cpu\"$"
    ):
        machine_facts()


def test_objects_of_a_failed_gpu_are_never_freed(monkeypatch):
    """If it were freed, CuPy would print a traceback for each event to standard error."""

    class Event:
        """A stand-in for CuPy's event."""

    monkeypatch.setattr(cupy.cuda, "Event", Event)
    event = Event()
    kept = weakref.ref(event)
    failed("cuda:0 failed", runtime.CUDARuntimeError(LAUNCH_FAILURE))
    del event
    assert kept() is not None


ENDING = """
import os

from evener.elements.cuda import device_errors as failure


class Loaded:
    def __init__(self, name):
        self.name = name

    def __del__(self, write=os.write):
        write(1, self.name.encode())


failure.other = Loaded("other")
failure.leak_forever(Loaded("kept"))
"""


def test_objects_kept_forever_are_not_freed_at_exit(apart):
    done = apart("-c", ENDING)
    assert (done.out, done.err) == ("other", "")


@pytest.mark.parametrize(
    ("status", "kind", "begins"),
    [
        (NO_MEMORY, DeviceOutOfMemory, "cannot lock 64.0 MiB of host memory for a GPU"),
        (
            LAUNCH_FAILURE,
            DeviceError,
            "a GPU failed while locking pages of the host's memory: cudaErrorLaunch",
        ),
    ],
)
def test_pages_that_cannot_be_locked(monkeypatch, status, kind, begins):
    failing = answering(runtime.CUDARuntimeError(status))
    monkeypatch.setattr(cupy.cuda, "alloc_pinned_memory", failing)
    monkeypatch.setattr(runtime, "hostRegister", failing)
    for lock in (lambda: locked_array(1 << 26, np.dtype("uint8")), lambda: locked_words(1 << 23)):
        with pytest.raises(kind) as caught:
            lock()
        assert str(caught.value).startswith(begins)


def test_more_pages_than_available_memory_are_not_locked(monkeypatch):
    """The system may overcommit such pages, and kill the process at the first access."""
    monkeypatch.setattr(memory, "available", lambda: (1 << 30) - 1)
    monkeypatch.setattr(np, "empty", None)
    with pytest.raises(DeviceOutOfMemory, match=r"cannot lock .* for a GPU") as caught:
        locked_words(1 << 27)
    assert caught.value.needed == 1 << 30


def test_large_pages_stay_locked_while_they_are_used(monkeypatch):
    locked = {}
    monkeypatch.setattr(runtime, "hostRegister", lambda at, nbytes, _: locked.update({at: nbytes}))
    monkeypatch.setattr(runtime, "hostUnregister", locked.pop)
    words = locked_words(1 << 18)
    assert (words.shape, words.dtype) == ((1 << 18,), np.dtype(np.uint64))
    assert locked == {words.ctypes.data: 1 << 21}
    assert words.ctypes.data % (1 << 21) == 0
    view = words[5:]
    del words
    view[:] = 7
    assert locked
    del view
    assert not locked


def test_pages_are_unlocked_after_an_interrupt(monkeypatch):
    """Python raises KeyboardInterrupt when the call that locks the pages returns."""
    locked = {}

    def lock(at, nbytes, _):
        locked[at] = nbytes
        raise KeyboardInterrupt

    monkeypatch.setattr(runtime, "hostRegister", lock)
    monkeypatch.setattr(runtime, "hostUnregister", locked.pop)
    with pytest.raises(KeyboardInterrupt):
        locked_words(1 << 18)
    assert not locked


# ---- the troubleshooting table -----------------------------------------------------------------------


@pytest.mark.parametrize("sentence", [LOST, FULL, NO_ROOM], ids=["lost", "full", "fuller"])
def test_every_failure_is_in_the_troubleshooting_table(sentence):
    assert matching(sentence)


def matching(sentence):
    """Return the rows of the table that match a sentence."""
    page = Path(__file__).parents[2] / "docs/howto/gpu.md"
    patterns = re.findall(r"^\| `(.*?)` \|", page.read_text(), re.MULTILINE)
    return [one for one in patterns if re.fullmatch(re.escape(one).replace("…", ".*"), sentence)]


@pytest.mark.parametrize("reason", REASONS.values(), ids=[case.__name__ for case in REASONS])
def test_every_reason_is_in_the_troubleshooting_table(reason):
    assert matching(reason)
