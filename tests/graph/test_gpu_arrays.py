"""Arrays of other libraries, by protocol: values that arrive, and one clear error for each that cannot."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

import evener as ev
from evener.elements.cuda import discovery
from support.fake_gpu import ArrayOnGpu, FakeGpu, TensorOnGpu, show_gpus
from support.kernel_inventory import find_kernels_of_gpus

TAILS, HEADS, WEIGHTS = np.array([7, 7, 9]), np.array([9, 12, 12]), np.array([0.5, 1.0, 2.0])


@pytest.fixture
def gpu(monkeypatch):
    find_kernels_of_gpus(monkeypatch)
    show_gpus(monkeypatch)


def on_cpu(values):
    return TensorOnGpu(values, kind=1)


class Frame:
    """A data frame of another library with columns on a GPU."""

    iloc = None

    def __init__(self, columns):
        self._columns = columns

    @property
    def columns(self):
        return list(self._columns)

    def __getitem__(self, name):
        return self._columns[name]


class Refusing:
    """An array that does not show its values."""

    @property
    def __cuda_array_interface__(self):
        raise NotImplementedError("strings have no interface; see the manual")


def check(graph):
    assert graph.ids.tolist() == [7, 9, 12]
    assert graph.edges().source.tolist() == TAILS.tolist()
    assert graph.edges().target.tolist() == HEADS.tolist()


# ---- host memory ------------------------------------------------------------------------------------


def test_dlpack_on_the_host():
    graph = ev.Graph.from_edges(on_cpu(TAILS), on_cpu(HEADS), on_cpu(WEIGHTS))
    check(graph)
    assert graph.weights.tolist() == WEIGHTS.tolist()
    assert graph.gpu_edges is None


def test_views_and_read_only_arrays_on_the_host():
    pairs = np.stack([TAILS, HEADS], axis=1)
    pairs.flags.writeable = False
    check(ev.Graph.from_edges(on_cpu(pairs[:, 0]), on_cpu(pairs[:, 1])))


def test_arrow_arrays():
    check(ev.Graph.from_edges(pa.array(TAILS), pa.array(HEADS)))
    assert ev.Graph.from_edges(pa.array(["a"]), pa.array(["b"])).ids.tolist() == ["a", "b"]


def test_an_arrow_device_array_in_host_memory():
    batch = pa.record_batch({"src": TAILS, "dst": HEADS})
    check(ev.Graph.from_arrow(SimpleNamespace(__arrow_c_device_array__=batch.__arrow_c_device_array__)))


def test_arrow_columns_on_a_device_are_refused(monkeypatch):
    column = SimpleNamespace(chunks=[SimpleNamespace(is_cpu=False)])
    monkeypatch.setattr(pa, "table", lambda _: SimpleNamespace(columns=[column]))
    table = SimpleNamespace(__arrow_c_device_array__=None)
    with pytest.raises(
        ev.ArgumentError, match=r"table: expected columns in host memory, found .* from_edges"
    ):
        ev.Graph.from_arrow(table)


# ---- a GPU ------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("kind", [ArrayOnGpu, TensorOnGpu, lambda values: TensorOnGpu(values, kind=13)])
def test_arrays_on_a_gpu(kind):
    graph = ev.Graph.from_edges(kind(TAILS), kind(HEADS), kind(WEIGHTS))
    assert graph.gpu_edges is not None
    check(graph)
    assert graph.weights.tolist() == WEIGHTS.tolist()


@pytest.mark.usefixtures("gpu")
def test_views_and_read_only_arrays_on_a_gpu():
    pairs = np.stack([TAILS, HEADS], axis=1)
    pairs.flags.writeable = False
    check(ev.Graph.from_edges(ArrayOnGpu(pairs[:, 0]), ArrayOnGpu(pairs[:, 1])))


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("read", [ev.Graph.from_arrow, ev.Graph.from_pandas])
def test_a_data_frame_on_a_gpu(read):
    frame = Frame({"to": ArrayOnGpu(HEADS), "from": ArrayOnGpu(TAILS), "weight": ArrayOnGpu(WEIGHTS)})
    graph = read(frame)
    assert graph.gpu_edges is not None
    check(graph)
    assert graph.weights.tolist() == WEIGHTS.tolist()
    check(read(Frame({"a": ArrayOnGpu(TAILS), "b": ArrayOnGpu(HEADS)}), source="a", target="b"))
    with pytest.raises(ev.ArgumentError, match="expected columns named src and dst"):
        read(Frame({"a": ArrayOnGpu(TAILS), "b": ArrayOnGpu(HEADS), "c": ArrayOnGpu(HEADS)}))
    with pytest.raises(ev.ArgumentError, match='expected one column "x", found the columns a, b'):
        read(Frame({"a": ArrayOnGpu(TAILS), "b": ArrayOnGpu(HEADS)}), source="x", target="b")


@pytest.mark.usefixtures("gpu")
def test_weights_of_16_bits():
    graph = ev.Graph.from_edges(*map(ArrayOnGpu, (TAILS, HEADS, WEIGHTS.astype(np.float16))))
    assert graph.weight_dtype == np.float32
    assert graph.weights.tolist() == WEIGHTS.tolist()


ERRORS = {
    "other kinds": (
        (TAILS, TensorOnGpu(HEADS, kind=10)),
        r"dst: expected an array in host memory or on a CUDA GPU, found .* another kind \(ROCm\); copy it to",
    ),
    "unknown kinds": ((TAILS, TensorOnGpu(HEADS, kind=99)), r"another kind \(DLPack type 99\)"),
    "two places": (
        (ArrayOnGpu(TAILS), HEADS),
        "all on one GPU or all in host memory, found src on cuda:0, dst in host memory; copy dst to cuda:0",
    ),
    "weights elsewhere": (
        (ArrayOnGpu(TAILS), ArrayOnGpu(HEADS), WEIGHTS),
        "found src on cuda:0, dst on cuda:0, weights in host memory; copy weights to cuda:0",
    ),
    "two GPUs": (
        (TensorOnGpu(TAILS), TensorOnGpu(HEADS, gpu=1)),
        "found src on cuda:0, dst on cuda:1; copy dst to cuda:0",
    ),
    "missing entries": (
        (ArrayOnGpu(TAILS), ArrayOnGpu(HEADS, mask=object())),
        r"dst: expected values everywhere, found support\.ArrayOnGpu with missing entries; drop them",
    ),
    "no values": (
        (Refusing(), HEADS),
        r"src: expected an array of numbers, found .*Refusing \(strings .*\); convert it, or copy it to",
    ),
    "unsupported types": (
        (ArrayOnGpu(TAILS, typestr="<Q8"), ArrayOnGpu(HEADS)),
        r"src: expected numbers, found support\.ArrayOnGpu \(",
    ),
    "two dimensions": (
        (ArrayOnGpu([TAILS]), ArrayOnGpu([HEADS])),
        r"src: expected one dimension, found 2 \(shape \(1, 3\)\); give one array for tails and one for .*",
    ),
    "other lengths": (
        (ArrayOnGpu(TAILS), ArrayOnGpu(HEADS[:2])),
        "src and dst: expected the same length, found 3 and 2",
    ),
    "floats": (
        (ArrayOnGpu(WEIGHTS), ArrayOnGpu(HEADS)),
        "src: expected integers in an array on a GPU, found float64; convert them with astype",
    ),
    "truth values": ((ArrayOnGpu(TAILS > 8), ArrayOnGpu(HEADS)), "src: expected integers .* found bool"),
    "negative ids": (
        (ArrayOnGpu(TAILS), ArrayOnGpu([4, 5, -6])),
        r"dst: expected ids of at least 0, found dst\[2\] = -6",
    ),
    "few weights": (
        (ArrayOnGpu(TAILS), ArrayOnGpu(HEADS), ArrayOnGpu(WEIGHTS[:2])),
        r"weights: expected one entry for each of the 3 edges, found shape \(2,\)",
    ),
    "weights that are no numbers": (
        (ArrayOnGpu(TAILS), ArrayOnGpu(HEADS), ArrayOnGpu(TAILS > 8)),
        "weights: expected floats or integers of up to 64 bits, found bool",
    ),
    "NaN": (
        (ArrayOnGpu(TAILS), ArrayOnGpu(HEADS), ArrayOnGpu([1, np.nan, -np.inf])),
        "weights: expected numbers, found NaN as the weight of edge 1",
    ),
}


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize(("given", "message"), ERRORS.values(), ids=ERRORS)
def test_an_error_names_the_array(given, message):
    with pytest.raises(ev.ArgumentError, match=message) as caught:
        ev.Graph.from_edges(*given)
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("gpu")
def test_too_many_vertices():
    with pytest.raises(ev.ArgumentError, match=r"src: expected ids below n = 9, found src\[2\] = 9; omit n="):
        ev.Graph.from_edges(ArrayOnGpu(TAILS), ArrayOnGpu(HEADS), n=9)
    with pytest.raises(ev.ArgumentError, match="n=: expected an integer of at least 0, found -1"):
        ev.Graph.from_edges(ArrayOnGpu(TAILS), ArrayOnGpu(HEADS), n=-1)


def test_values_that_cannot_be_read_on_the_host():
    class Tensor(TensorOnGpu):
        def __dlpack__(self, **_):
            raise BufferError("this type of number has no name")

    with pytest.raises(
        ev.ArgumentError, match=r"src: expected numbers in host memory, found .*Tensor \(this type .*\)"
    ):
        ev.Graph.from_edges(Tensor(TAILS, kind=1), HEADS)

    class Gradient:
        def __array__(self, *_, **__):
            raise RuntimeError("call detach() first")

    with pytest.raises(ev.ArgumentError, match=r"weights: expected a sequence .*: call detach\(\) first"):
        ev.Graph.from_edges(TAILS, HEADS, Gradient())


def test_without_a_gpu_the_error_says_why(monkeypatch):
    monkeypatch.setattr(discovery, "missing", lambda: "CuPy is not installed; pip install it")
    with pytest.raises(
        ev.DeviceError,
        match=r"src: found support\.ArrayOnGpu on a GPU, and no GPU can be used: CuPy is not installed",
    ):
        ev.Graph.from_edges(ArrayOnGpu(TAILS), ArrayOnGpu(HEADS))


def test_the_fake_gpu_sorts_like_a_gpu():
    gpu = FakeGpu("cuda:0", 0)
    flags = gpu.upload(np.array([1, 0, 1], np.uint32))
    assert gpu.download(gpu.positions(flags)).tolist() == [0, 2]
    assert gpu.download(gpu.running_sum(flags)).tolist() == [1, 1, 2]


# ---- PyTorch ----------------------------------------------------------------------------------------


def test_without_pytorch_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    graph = ev.Graph.from_edges(TAILS, HEADS)
    for layout in ("edge_index", "csr"):
        with pytest.raises(
            ev.ArgumentError, match=r"to_torch needs PyTorch, .* pip install torch, or use to_"
        ):
            graph.to_torch(layout=layout)
    with pytest.raises(ev.ArgumentError, match='layout=: expected "edge_index" or "csr", found \'coo\''):
        graph.to_torch(layout="coo")
