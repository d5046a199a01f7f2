"""Protocols of a processing element: its memory, its queue of work, and its clock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeGuard

    import numpy as np
    from numpy.typing import DTypeLike, NDArray

    from evener.elements.cuda.sharing import GpuSharing
    from evener.kernels.kernel import Kernel
    from evener.system.world import World

__all__ = [
    "Clock",
    "Element",
    "GpuElement",
    "Memory",
    "Queue",
    "begin_copy",
    "copy_between",
    "is_gpu",
    "padded_words",
]

# Words of 64 bits in a memory transaction of a GPU.
_LINE_WORDS = 16


def padded_words(length: int) -> int:
    """Return the distance in words between arrays of `length` words that share one allocation."""
    return max(1, -(-length // _LINE_WORDS)) * _LINE_WORDS


class Memory(Protocol):
    """The memory of an element.

    Attributes
    ----------
    memory : hashable
        Identifies the memory. Elements with equal values read and write each other's arrays in place.
    addressable : bool
        Whether code on the host reads and writes arrays of this memory.
    peers : hashable or None
        Identifies a group of elements that copy between their memories directly. None: no such group.
    table_columns : int
        Columns of a block of edges whose values fit a multiprocessor's shared memory; 0 on a CPU.
    """

    addressable: bool

    @property
    def memory(self) -> object: ...  # noqa: D102 - an attribute, see above

    @property
    def peers(self) -> object | None: ...  # noqa: D102 - an attribute, see above

    @property
    def table_columns(self) -> int: ...  # noqa: D102 - an attribute, see above

    def room(self) -> int | None:
        """Return the bytes that a partition and its state may use; None if only the host sets a limit."""
        ...

    def room_after(self, taken: int) -> int | None:
        """Return the bytes that are free, or None if only the host sets a limit.

        `taken` is the size of the arrays of a partition that are in memory already. A limit that the user
        sets includes them.
        """
        ...

    def allocate(
        self, length: int, dtype: DTypeLike, fill: object | None = None, *, exchanged: bool = False
    ) -> NDArray[Any]:
        """Return an array of shape (length,), filled with `fill`, or undefined if `fill` is None.

        Arrays that are copied to or from other elements need `exchanged`.
        """
        ...

    def allocate_several(self, wanted: Sequence[tuple[int, DTypeLike, int | None]]) -> list[NDArray[Any]]:
        """Return arrays of these lengths and types, with this value of each byte; undefined if it is None.

        The arrays may share one allocation, and consecutive arrays of equal bytes one fill.
        """
        ...

    def fill_several(self, arrays: Sequence[NDArray[Any]], values: Sequence[int | None]) -> None:
        """Set each byte of the arrays of one `allocate_several`, as it does."""
        ...

    def zeros(self, count: int, length: int) -> list[NDArray[Any]]:
        """Return `count` arrays of uint64 zeros, each of shape (length,), from one allocation."""
        ...

    def upload(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return a host array in this memory: the array itself or a copy."""
        ...

    def download(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return an array of this memory on the host: the array itself or a copy."""
        ...

    def allocate_staging(self, nbytes: int) -> NDArray[np.uint8]:
        """Return an undefined host array of shape (nbytes,), for copies from and to this memory."""
        ...

    def allocate_edges(self, length: int, dtype: np.dtype[Any], on_host: int) -> Any:
        """Return memory for `length` edge values; the first `on_host` values may be in host memory."""
        ...

    def begin_write(self, edges: Any, begin: int, end: int) -> NDArray[Any]:
        """Return a host array of shape (end - begin,) to write the edge values ``begin:end`` to."""
        ...

    def end_write(self, edges: Any, begin: int, written: NDArray[Any]) -> None:
        """Store the array that `begin_write` returned last, from edge `begin` on."""
        ...


class Queue(Protocol):
    """The work of an element: kernels, calls, and copies between memories.

    Attributes
    ----------
    threads : int
        Threads of this process that the element keeps busy.
    deferred : bool
        Whether work is only queued: calls return before it is done.
    """

    threads: int
    deferred: bool

    def kernel(self, name: str | Kernel) -> Callable[..., Any]:
        """Return the kernel ``"file.function"``, or this element's side of a `Kernel`."""
        ...

    def prepare_workspace(self, edges: int) -> None:
        """Allocate the temporary arrays that kernels need for a partition with this many edges."""
        ...

    def run(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call `function` on this element's processor and return its value."""
        ...

    def group_with(self, elements: Sequence[Any]) -> Any:
        """Return an object for launches of kernels that run on all these elements and wait for each other.

        None if the elements cannot access each other's memory. This element is the first of the sequence.
        """
        ...

    def result(self, value: Any) -> Any:
        """Return the number or numbers that a kernel returned, once they are known."""
        ...

    def wait(self) -> None:
        """Wait for all queued kernels and copies."""
        ...

    def reads(self, other: Any) -> bool:
        """Return whether kernels of this element read and write arrays of another element in place."""
        ...

    def begin_round(self) -> None:
        """Order later incoming copies after all work queued so far."""
        ...

    def record(self) -> Any:
        """Return an event after all work queued so far; None if that work is done."""
        ...

    def copy_in(self, source: NDArray[Any], target: NDArray[Any]) -> Any:
        """Begin to copy a host array to `target` in this memory, and return an event after the copy.

        The copy begins after the work that was queued before `begin_round` was last called. The event is
        None if the copy is done.
        """
        ...

    def copy_out(self, source: NDArray[Any], target: NDArray[Any]) -> Any:
        """Begin to copy `source` in this memory to a host array, and return an event after the copy.

        The copy begins after all work queued so far. The event is None if the copy is done.
        """
        ...

    def copy_from(self, source: NDArray[Any], target: NDArray[Any], memory: object, after: Any) -> Any:
        """Begin to copy `source` in a peer's memory to `target` here, and return an event after the copy.

        The copy begins after the peer's event `after` and, as for `copy_in`, after earlier rounds.
        """
        ...

    def wait_for(self, done: Any) -> None:
        """Order all later work after the event of a copy."""
        ...

    def wait_for_peer(self, event: Any) -> None:
        """Order all later work after an event that `record` of a peer returned."""
        ...


class Clock(Protocol):
    """The times at which an element's work begins and ends."""

    def begin_timing(self, *, concurrent: bool) -> None:
        """Prepare to mark times. `concurrent`: whether other elements run at the same time."""
        ...

    def mark(self) -> Any:
        """Return a mark between earlier and later calls; call it in `run`."""
        ...

    def times(self, marks: Sequence[Any]) -> list[float]:
        """Return the host's time in seconds at each mark, after waiting for the last one."""
        ...


class Element(Memory, Queue, Clock, Protocol):
    """A processor that stores one partition, its arrays, and runs kernels on them.

    Attributes
    ----------
    name : str
        The name in ``on=``: "cpu", "cpu:8", "cuda:0".
    kind : str
        The kernels that the element runs: "cpu" or "cuda".
    weight : float
        Its speed in CPU threads. By default, elements get edges in proportion to their weights.
    """

    name: str
    kind: str
    weight: float


class GpuElement(Element, Protocol):
    """A GPU, which exchanges arrays with GPUs of other ranks.

    Attributes
    ----------
    bus_id : str
        The place of the GPU in its machine, equal in all processes.
    sharing : GpuSharing
        Memory and events of the GPU that other processes on the machine use by their handles.
    stream : int
        The address of the stream of all kernels.
    """

    @property
    def bus_id(self) -> str: ...  # noqa: D102 - an attribute, see above

    @property
    def sharing(self) -> GpuSharing: ...  # noqa: D102 - an attribute, see above

    @property
    def stream(self) -> int: ...  # noqa: D102 - an attribute, see above

    def group_with_ranks(self, world: World) -> Any:
        """Return an object for launches of kernels that run on one GPU of each rank and wait for each other.

        This is a collective operation; all ranks must call it.
        """
        ...

    def fill(self, array: NDArray[Any], value: object) -> None:
        """Set all elements of an array to one value."""
        ...

    def sort(self, keys: NDArray[Any]) -> None:
        """Sort an array of unsigned integers in place."""
        ...

    def argsort(self, keys: NDArray[Any]) -> NDArray[np.uint64]:
        """Return the positions of the values in stable ascending order."""
        ...


def is_gpu(element: Element) -> TypeGuard[GpuElement]:
    """Return whether an element is a GPU."""
    return element.kind == "cuda"


def copy_between(sender: Element, receiver: Element, source: NDArray[Any], target: NDArray[Any]) -> Any:
    """Begin to copy `source` of one peer to `target` of another, and return an event after the copy.

    The sender's later work comes after the copy, because it may change the source. Call `begin_round` of the
    receiver before, and `wait_for` with the event afterwards.
    """
    copied = begin_copy(sender, receiver, source, target)
    sender.wait_for(copied)
    return copied


def begin_copy(sender: Element, receiver: Element, source: NDArray[Any], target: NDArray[Any]) -> Any:
    """Begin the copy of `copy_between`, but do not order the sender's later work after the copy."""
    return receiver.copy_from(source, target, sender.memory, sender.record())
