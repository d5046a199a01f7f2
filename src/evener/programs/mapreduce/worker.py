"""Workers: the stages of a job on one element."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from evener.elements import Element
    from evener.programs.mapreduce.records import Grouped, Sorted
    from evener.programs.mapreduce.reducer import Reducer

__all__ = ["JobFunctions", "Worker"]


class JobFunctions(NamedTuple):
    """The functions of a job for one kind of element, and the types of its records.

    Attributes
    ----------
    map : compiled function or LinkedFile
        As `evener.programs.mapreduce.compilation` returns it for CPUs, or for GPUs.
    reducer : Reducer
    key_dtype, dtypes : dtype, sequence of dtype
        The types of the key and of the columns of a record.
    """

    map: Any
    reducer: Reducer
    key_dtype: np.dtype[Any]
    dtypes: Sequence[np.dtype[Any]]

    @property
    def record_bytes(self) -> int:
        """Bytes of a record."""
        return self.key_dtype.itemsize + sum(dtype.itemsize for dtype in self.dtypes)


class Worker(Protocol):
    """Runs the stages of a job on one element.

    For each chunk of edges, a job calls `map`, then `choose` and `group`, or `take_all` instead of both.
    Calls on a GPU return before their work is done. A call waits, if at all, before it queues its longest
    work, so that several GPUs work at the same time.

    Attributes
    ----------
    element : Element
    reducer : Reducer
    edges : int
        The edges of the element.
    values : tuple of ndarray
        The fields of vertices that the map function reads, in the element's memory. Each field has a value
        for each local vertex, or for each owned vertex if the function does not read those of targets. It
        has one value if the function reads none.
    """

    element: Element
    reducer: Reducer
    edges: int
    values: tuple[NDArray[Any], ...]

    def room(self, memory: int, elements: int) -> int:
        """Return the edges of the largest chunk.

        Parameters
        ----------
        memory : int
            Bytes that the job may use on the rank.
        elements : int
            The number of elements of all ranks, which may all send their records here.
        """
        ...

    def map(self, begin: int, end: int) -> Any:
        """Call the map function for the edges ``begin:end``, and return the number of records."""
        ...

    def choose(self) -> Any:
        """Choose the element of each record, and return the number of wrong keys."""
        ...

    def mapped_keys(self) -> NDArray[Any]:
        """Return the keys of all mapped records on the host."""
        ...

    def group(self) -> Grouped:
        """Return the records, those of each element next to each other."""
        ...

    def take_all(self) -> Grouped:
        """Return the records of the only element, if each edge of the chunk gave one."""
        ...

    def join(self, parts: Sequence[Sequence[NDArray[Any]]]) -> list[NDArray[Any]]:
        """Return the keys and the columns of all parts, which are in the memory of the element."""
        ...

    def sort(self, keys: NDArray[Any], columns: list[NDArray[Any]]) -> Sorted:
        """Return the records sorted by key. The sort may overwrite the given arrays."""
        ...
