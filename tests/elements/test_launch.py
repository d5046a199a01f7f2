"""The arguments that a launcher passes to the driver, read as a kernel reads them, without a GPU."""

from __future__ import annotations

import ctypes
import re
import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from evener.elements.cuda import launch
from evener.elements.cuda.launch import Launcher
from evener.elements.cuda.memory import TieredArray
from evener.elements.cuda.scratch import pieces_for
from evener.elements.cuda.source import Declaration, OwnSource, Parameter
from evener.errors import ArgumentError, DeviceError
from evener.partition.footprint import PREFIX_EDGES


@dataclass
class Pointer:
    ptr: int
    device_id: int = 0


class OnGpu:
    """The attributes of a CuPy array that launchers read."""

    __cuda_array_interface__ = {}  # noqa: RUF012 - launchers only test its presence

    def __init__(self, address, dtype, size, gpu=0):
        self.data, self.dtype, self.size = Pointer(address, gpu), np.dtype(dtype), size

    def __len__(self):
        return self.size

    @property
    def nbytes(self):
        return self.size * self.dtype.itemsize


class Element:
    """A fake CUDA element that records loads and launches."""

    name = "cuda:0"
    index = 0

    def __init__(self):
        self.loaded, self.launched, self.slot = [], [], 0
        self.scratch = self

    def reads_gpu(self, _):
        return False

    def load(self, file, name, types, threads, *, shared):
        self.loaded.append((file, name, types, threads, shared))
        return 77, 9, 4096 if shared else 0

    def next_slot(self):
        self.slot += 1
        return self.slot

    def results(self, slot):
        return 1000, 2000, 3000 + slot

    def filled(self, kind):
        return {"Grid": (11, 12), "Pieces": (21, 22, 23, 24)}[kind]

    def launch(self, name, function, blocks, threads, shared_bytes, parameters, *, together, lists):
        assert (function, blocks) == (77, 9)
        self.launched.append((name, threads, shared_bytes, parameters, together, lists))

    def result(self, vote):
        return vote.slot * 10


def declared(*parameters, types=(), threads=256):
    return Declaration("kernel", types, threads, threads == 1, tuple(Parameter(*p) for p in parameters))


def seen(element, *codes):
    """Return the parameters of the last launch, read from their addresses by `struct` codes."""
    addresses = element.launched[-1][3]
    values = []
    for i, code in enumerate(codes):
        (place,) = struct.unpack("Q", ctypes.string_at(addresses + 8 * i, 8))
        assert place % struct.calcsize(code[-1]) == 0
        values.append(struct.unpack(code, ctypes.string_at(place, struct.calcsize(code))))
    return values


def test_arguments_and_filled_parameters_are_in_order():
    element = Element()
    kernel = Launcher(
        element,
        "file",
        declared(
            ("level", "i32", ()),
            ("values", "Array", ("float",)),
            ("flags", "Bits", ()),
            ("end", "u64", ()),
            ("source", "u32", ()),
            ("share", "double", ()),
            ("byte", "u8", ()),
            ("edges", "Tiered", ("u32",)),
            ("last", "u32", ()),
            ("results", "Results", ("u64", "double")),
            ("grid", "Grid", ()),
            ("pieces", "Pieces", ()),
            ("shared", "Shared", ()),
        ),
    )
    edges = TieredArray(np.empty(0, np.uint32), OnGpu(4096, "uint32", 40))
    vote = kernel(
        -5, OnGpu(640, "float32", 10), OnGpu(128, "uint64", 3), 2**40, np.uint32(2**32 - 1), 0.5,
        np.uint8(200), edges, 6,
    )  # fmt: skip
    codes = ["i", "QQ", "QQ", "Q", "I", "d", "B", "QQQQ", "I", "QQQ", "QQ", "QQQQ", "I"]
    assert seen(element, *codes) == [
        (-5,), (640, 10), (128, 3), (2**40,), (2**32 - 1,), (0.5,), (200,), (4096, 4096, 0, 40), (6,),
        (1000, 2000, 3001), (11, 12), (21, 22, 23, 24), (4096,),
    ]  # fmt: skip
    assert element.loaded == [("file", "kernel", {}, 256, True)]
    assert element.launched[0][:3] == ("file.kernel", 256, 4096)
    assert element.launched[0][4:] == (True, True)  # a cooperative launch that lists pieces
    assert vote.kinds == "Qd"
    assert vote.read() == int(vote) == 10


def test_a_kernel_without_results_returns_none():
    element = Element()
    kernel = Launcher(element, "file", declared(("words", "Bits", ()), threads=1))
    assert kernel(OnGpu(64, "uint64", 1)) is None
    assert element.loaded == [("file", "kernel", {}, 0, False)]  # a launch of one block
    assert element.launched[0][:3] == ("file.kernel", 1, 0)
    assert element.launched[0][4:] == (False, False)


def test_each_launch_has_its_own_arguments_and_slot():
    element = Element()
    kernel = Launcher(element, "file", declared(("n", "u64", ()), ("results", "Results", ("u64",))))
    for k in range(1, 5):
        vote = kernel(k)
        assert vote.slot == k
        assert seen(element, "Q", "QQQ") == [(k,), (1000, 2000, 3000 + k)]
    assert len(element.loaded) == 1
    with pytest.raises(
        ArgumentError, match=r"file\.kernel: a number does not fit the declared type of its parameter"
    ):
        kernel(-1)
    assert len(element.launched) == 4


@pytest.mark.parametrize(("together", "lists"), [("Grid", False), ("Pieces", True)])
def test_cooperative_launches_and_lists_of_pieces_are_independent(together, lists):
    element = Element()
    Launcher(element, "file", declared(("filled", together, ())))()
    assert element.launched[0][4:] == (not lists, lists)


def test_flags_of_a_byte_are_read_as_bytes():
    element = Element()
    Launcher(element, "file", declared(("flags", "Array", ("u8",))))(OnGpu(64, "bool", 5))
    assert seen(element, "QQ") == [(64, 5)]


def test_a_kernel_is_loaded_once_per_types_of_its_arrays():
    element = Element()
    kernel = Launcher(
        element,
        "file",
        declared(
            ("far", "Distance", ()),
            ("distance", "Array", ("Distance",)),
            ("weights", "Tiered", ("Weight",)),
            types=("Distance", "Weight"),
        ),
    )

    def weights(dtype):
        return TieredArray(np.empty(0, dtype), OnGpu(512, dtype, 4))

    kernel(7, OnGpu(64, "uint32", 2), weights("uint16"))
    assert seen(element, "I", "QQ") == [(7,), (64, 2)]
    kernel(np.inf, OnGpu(64, "float64", 2), weights("float32"))
    assert seen(element, "d", "QQ") == [(np.inf,), (64, 2)]
    kernel(8, OnGpu(128, "uint32", 2), weights("uint16"))
    assert seen(element, "I", "QQ") == [(8,), (128, 2)]
    assert [types for _, _, types, _, _ in element.loaded] == [
        {"Distance": "u32", "Weight": "u16"},
        {"Distance": "double", "Weight": "float"},
    ]


def test_edges_in_two_memories_have_the_address_of_edge_0():
    far = np.zeros(64, np.uint32)
    edges = TieredArray(far, OnGpu(4096, "uint32", 36))
    assert edges.pointers() == (4096 - 64 * 4, far.ctypes.data, 64, 100, 0, 0)
    assert (len(edges), edges.dtype, edges.itemsize, edges.nbytes) == (100, np.uint32, 4, 400)
    with_prefixes = edges.with_prefixes(OnGpu(1024, "uint32", 7))
    assert with_prefixes.pointers() == (*edges.pointers()[:4], 1024, 7)
    assert with_prefixes.with_prefixes(None).pointers() == edges.pointers()
    # Addresses have 64 bits, so an address below 0 wraps around.
    assert TieredArray(far, OnGpu(64, "uint32", 36)).pointers()[0] == 2**64 + 64 - 64 * 4


TAKES = declared(("words", "Bits", ()), ("values", "Array", ("float",)), ("edges", "Tiered", ("u32",)))
RIGHT = {
    "words": OnGpu(0, "uint64", 1),
    "values": OnGpu(0, "float32", 1),
    "edges": TieredArray(np.empty(0, np.uint32), OnGpu(0, "uint32", 1)),
}


@pytest.mark.parametrize(
    ("name", "wrong", "kind"),
    [
        ("words", OnGpu(0, "uint32", 1), "u64"),
        ("words", np.zeros(1, np.uint64), "u64"),
        ("values", OnGpu(0, "float64", 1), "float"),
        ("values", OnGpu(0, "float32", 1, gpu=1), "float"),
        ("values", np.zeros(1, np.float32), "float"),
        ("values", 3.5, "float"),
        ("values", None, "float"),
        ("values", RIGHT["edges"], "float"),
        ("edges", OnGpu(0, "uint32", 1), "u32"),
        ("edges", TieredArray(np.empty(0, np.uint8), OnGpu(0, "uint8", 1)), "u32"),
    ],
)
def test_wrong_array_arguments_are_refused(name, wrong, kind):
    element = Element()
    kernel = Launcher(element, "file", TAKES)
    sentence = rf"file\.kernel, argument {name}: expected an array of {kind} on cuda:0, found "
    with pytest.raises(DeviceError, match=sentence):
        kernel(*{**RIGHT, name: wrong}.values())
    assert element.launched == []


@pytest.mark.parametrize("wrong", [OnGpu(0, "float64", 1), np.zeros(1, np.float32), [1.0], None])
def test_every_launch_of_a_users_kernel_is_checked(wrong):
    """A correct launch comes before a wrong one, which would read past the end of an array."""
    element = Element()
    kernel = Launcher(element, OwnSource(Path("own.cu"), ""), TAKES)
    kernel(*RIGHT.values())
    with pytest.raises(DeviceError, match="argument values: expected an array of float on cuda:0, found "):
        kernel(*{**RIGHT, "values": wrong}.values())
    assert len(element.launched) == 1


@pytest.mark.parametrize("count", [2, 4])
def test_too_few_or_many_arguments_are_refused(count):
    element = Element()
    with pytest.raises(ValueError, match="argument"):
        Launcher(element, "file", TAKES)(*[*RIGHT.values(), 1][:count])


@pytest.mark.parametrize("rows", [1, 511, 5_000, 1_000_000])
@pytest.mark.parametrize("pieces", [1, 2, 3])
def test_lists_have_room_for_twice_the_pieces_of_all_rows(rows, pieces):
    """A row of more than LONG edges is cut into pieces of PIECE edges; here the last piece has one edge."""
    header = (Path(launch.__file__).parents[2] / "kernels/cuda/edges.cuh").read_text(encoding="utf-8")
    long, piece = (int(re.search(rf"{name} = (\d+);", header)[1]) for name in ("LONG", "PIECE"))
    edges = max(long, (pieces - 1) * piece) + 1
    assert pieces_for(rows * edges) >= 2 * rows * pieces


def test_kernels_use_the_same_prefix_length():
    header = (Path(launch.__file__).parents[2] / "kernels/cuda/common.cuh").read_text(encoding="utf-8")
    assert int(re.search(r"PREFIX_EDGES = (\d+);", header)[1]) == PREFIX_EDGES
