"""Element: what the engine asks of a processor, whatever its kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import DTypeLike, NDArray

    from evener.kernels.kernel import Kernel

__all__ = ["Element", "words_apart"]

# Words of 64 bits that a GPU takes at a time.
_LINE = 16


def words_apart(length: int) -> int:
    """From the beginning of one array of `length` words to that of the next, where they are made as one."""
    return max(1, -(-length // _LINE)) * _LINE


class Element(Protocol):
    """A processor that holds one partition, keeps its arrays, and runs kernels on them.

    Attributes
    ----------
    name : str
        As the user wrote it: "cpu", "cpu:8", "cuda:0".
    kind : str
        Which tree of kernels it runs: "cpu" or "cuda".
    threads : int
        The threads of this process that it keeps busy.
    weight : float
        How fast it is, in threads of a CPU: what it gets of the edges, against others, where nobody says
        how to share them.
    deferred : bool
        Whether kernels are only handed over, so that calls return before the work is done.
    memory : hashable
        Elements with the same use each other's arrays as their own.
    table_columns : int
        Columns of a block of edges whose values fit a multiprocessor's table; 0 where there are none.
    """

    name: str
    kind: str
    threads: int
    weight: float
    deferred: bool

    @property
    def memory(self) -> object: ...  # noqa: D102 - an attribute, see above

    @property
    def table_columns(self) -> int: ...  # noqa: D102 - an attribute, see above

    def kernel(self, name: str | Kernel) -> Callable[..., Any]:
        """The kernel ``"file.function"`` in this element's tree, or this element's side of a `Kernel`."""
        ...

    def room(self) -> int | None:
        """Bytes that a partition and its state may take up; None where only the host sets a limit."""
        ...

    def room_beside(self, taken: int) -> int | None:
        """Bytes that more may take up beside what takes up `taken`; None where only the host sets a limit."""
        ...

    def array(
        self, length: int, dtype: DTypeLike, fill: object | None = None, *, travels: bool = False
    ) -> NDArray[Any]:
        """An array in this element's memory; without `fill`, its content is undefined.

        What is sent to other elements, or taken from them, `travels`.
        """
        ...

    def zeros(self, count: int, length: int) -> list[NDArray[Any]]:
        """Several arrays of uint64, zero, in this element's memory: made and cleared as one."""
        ...

    def hold(self, array: NDArray[Any]) -> NDArray[Any]:
        """The host's array in this element's memory: itself, or a copy."""
        ...

    def edges(self, length: int, dtype: np.dtype[Any], far: int) -> Any:
        """Memory for edges, or what belongs to them, for kernels: the first `far` may lie in the host's."""
        ...

    def open_edges(self, edges: Any, begin: int, end: int) -> NDArray[Any]:
        """An array of the host's in which to write edges ``begin:end``."""
        ...

    def close_edges(self, edges: Any, begin: int, written: NDArray[Any]) -> None:
        """Take over what was written in the array last opened for these `edges`, from edge `begin` on."""
        ...

    def fetch(self, array: NDArray[Any]) -> NDArray[Any]:
        """An array of this element in the host's memory: itself, or a copy."""
        ...

    def begin_round(self) -> None:
        """Let what others send here from now on come after what was asked of this element so far."""
        ...

    def send(self, source: NDArray[Any], receiver: Element, target: NDArray[Any]) -> Any:
        """Begin to copy `source` to another element's `target`; returns what that one is to `receive`.

        Nothing asked of the receiver in this round before it receives may use `target`.
        """
        ...

    def bring(
        self, source: NDArray[Any], target: NDArray[Any], memory: object = "host", after: Any = None
    ) -> Any:
        """Begin to copy what lies in another's memory here, once `after` is done; returns as `send` does.

        By this elements send that leave the copying to the receiver.
        """
        ...

    def receive(self, arrival: Any) -> None:
        """Let what is asked of this element from here on find what was sent to it."""
        ...

    def reserve(self, edges: int) -> None:
        """Make ready for kernels on a partition with so many edges."""
        ...

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Run `function` on this element's processor now, and return its answer."""
        ...

    def read(self, vote: Any) -> Any:
        """What a kernel voted, when it is known."""
        ...

    def wait(self) -> None:
        """Wait until all that was handed over is done."""
        ...

    def begin_timing(self, *, beside_others: bool) -> None:
        """Make ready to mark times, while other elements run as well or alone."""
        ...

    def mark(self) -> Any:
        """A point between the calls made and those to come."""
        ...

    def times(self, marks: Sequence[Any]) -> list[float]:
        """When the element came to each mark, by the host's clock; waits for the last."""
        ...
