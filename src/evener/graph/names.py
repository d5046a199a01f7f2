"""Names to numbers: a hash table gives each distinct name a code, and sorted codes give the numbers.

The table reads lines of text or Arrow strings on all threads. Codes depend on the threads, numbers do not:
the number of a name is its position among all names in the order of their code points.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.graph.arrays import fit_one_width, read_only, string_array
from evener.system import memory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evener.kernels.cpu.names import Syntax

__all__ = ["NameTable", "text_array"]

# Slots of an empty table, and bytes of a slot with the place of its name.
_SLOTS, _SLOT_BYTES = 1 << 16, 36
# Twice the names that a thread adds after the limit is reached.
_SLOTS_PER_THREAD = 128
# Strings that a thread looks up before the table can grow.
_STRINGS_PER_PART = 1 << 16
# Bytes per name of its arrays in `number`: an order, a number, words and an offset.
_ORDER_BYTES = 40


class NameTable:
    """A hash table of names; `where` is the source of the names, for messages."""

    def __init__(self, where: object) -> None:
        import numba

        self._where = where
        self._parts = numba.get_num_threads()
        self._counts = np.zeros(2, np.uint64)
        slots = max(_SLOTS, 1 << (_SLOTS_PER_THREAD * self._parts - 1).bit_length())
        self._slots = np.zeros(3 * slots, np.uint64)
        self._arena = np.empty(0, np.uint8)
        self._begins, self._lengths = np.empty(slots, np.uint64), np.empty(slots, np.uint32)

    def __len__(self) -> int:
        """Return the number of names; codes are smaller."""
        return int(self._counts[0])

    def add_lines(
        self,
        text: NDArray[np.uint8],
        bounds: NDArray[np.uint64],
        rows: NDArray[np.uint64],
        ends: Sequence[NDArray[np.uint32]],
        syntax: Syntax,
    ) -> bool:
        """Write the codes of tails and heads in lines of text; return false if a line needs another reader.

        The edges of the lines ``bounds[i]:bounds[i + 1]`` go to `ends` from row ``rows[i]`` on, which becomes
        the row after the last edge.
        """
        from evener.kernels.cpu import names as kernels

        at, stops = bounds[:-1].copy(), bounds[1:].copy()
        states = np.full(len(at), kernels.FULL)
        scratch = np.empty((len(at), kernels.BLOCK, 5), np.uint64)
        self._make_room(int(stops[-1] - at[0]))
        while (states == kernels.FULL).any() and not (states == kernels.ODD).any():
            if len(self) >= self._limit():
                self._grow()
            kernels.read_lines(text, syntax, at, stops, rows, states, *ends, scratch, self._table())
        return bool((states == kernels.DONE).all())

    def add_column(self, column: Any, codes: NDArray[np.uint32]) -> None:
        """Write the codes of a chunked Arrow array without nulls; see `add`."""
        row = 0
        for chunk in column.chunks:
            self.add(chunk, codes[row : row + len(chunk)])
            row += len(chunk)

    def add(self, strings: Any, codes: NDArray[np.uint32]) -> None:
        """Write the codes of an Arrow array of strings, or of a dictionary of strings, without nulls."""
        import pyarrow as pa

        from evener.kernels.cpu import names as kernels

        if pa.types.is_dictionary(strings.type):
            self._add_dictionary(strings.indices.to_numpy(), strings.dictionary, codes)
            return
        text, offsets = _buffers(strings)
        self._make_room(int(offsets[-1] - offsets[0]))
        bounds = np.append(np.arange(0, len(strings), _STRINGS_PER_PART), len(strings)).astype(np.uint64)
        at, stops = bounds[:-1].copy(), bounds[1:].copy()
        scratch = np.empty((len(at), kernels.BLOCK, 5), np.uint64)
        while (at < stops).any():
            if len(self) >= self._limit():
                self._grow()
            kernels.read_strings(text, offsets, at, stops, codes, scratch, self._table())

    def _add_dictionary(self, indices: NDArray[Any], names: Any, codes: NDArray[np.uint32]) -> None:
        """Write the codes of indices into names, of which only those in use get codes."""
        import pyarrow as pa

        from evener.kernels.cpu.partition import replace_by_place

        used = np.zeros(len(names), np.bool_)
        used[indices] = True
        code_of = np.zeros(len(names), np.uint32)
        own = np.empty(np.count_nonzero(used), np.uint32)
        self.add(names if used.all() else names.filter(pa.array(used)), own)
        code_of[used] = own
        codes[:] = indices
        replace_by_place(code_of, codes)

    def name(self, code: int) -> str:
        """Return the name of a code; another character replaces bytes that are no UTF-8."""
        begin = int(self._begins[code])
        return self._arena[begin : begin + int(self._lengths[code])].tobytes().decode("utf-8", "replace")

    def content(self) -> NDArray[np.uint8]:
        """Return the bytes of all names."""
        return self._arena[: int(self._counts[1])]

    def strings(self) -> Any:
        """Return the names in the order of their codes as Arrow strings; UTF-8 is not checked."""
        return self._strings(np.arange(len(self), dtype=np.uint32))

    def number(self, codes: Sequence[NDArray[np.uint32]]) -> tuple[NDArray[Any], Any]:
        """Replace codes by the numbers of their names, and return the names in the order of the numbers.

        The second value is a name with the character NUL, which ends strings in NumPy, or None.
        """
        import pyarrow.compute as pc

        from evener.kernels.cpu.partition import replace_by_place

        count, size = len(self), int(self._counts[1])
        memory.require(_ORDER_BYTES * count + 2 * size, f"the ids of {self._where}")
        order = self._order()
        strings = self._strings(order)
        if (nul := pc.index(pc.match_substring(strings, "\0"), True).as_py()) >= 0:
            return np.empty(0, np.str_), strings[nul]
        numbers = np.empty(count, np.uint32)
        numbers[order] = np.arange(count, dtype=np.uint32)
        for ends in codes:
            replace_by_place(numbers, ends)
        return text_array(strings), None

    def _strings(self, order: NDArray[np.uint32]) -> Any:
        """Return the names of codes as Arrow strings."""
        import pyarrow as pa

        from evener.kernels.cpu import names as kernels

        offsets = np.zeros(len(order) + 1, np.int64)
        np.cumsum(self._lengths[order], out=offsets[1:])
        text = np.empty(int(self._counts[1]), np.uint8)
        kernels.pack_names(self._arena, self._begins, order, offsets, text, self._parts)
        return pa.LargeStringArray.from_buffers(len(order), pa.py_buffer(offsets), pa.py_buffer(text))

    def _order(self) -> NDArray[np.uint32]:
        """Return the codes in the order of their names, which is that of their bytes.

        Names are sorted by their first eight bytes. Arrow sorts the names of which these bytes are equal.
        """
        import pyarrow.compute as pc

        from evener.kernels.cpu import names as kernels

        words = np.empty(len(self), np.uint64)
        kernels.words_of(self._arena, self._begins, self._lengths, words, self._parts)
        order = np.argsort(words).astype(np.uint32)
        words = words[order]
        equal = words[1:] == words[:-1]
        tied = np.flatnonzero(np.append(equal, False) | np.append(False, equal))
        codes = order[tied]
        order[tied] = codes[pc.sort_indices(self._strings(codes)).to_numpy()]
        return order

    def _table(self) -> Any:
        from evener.kernels.cpu.names import Table

        arrays = self._slots, self._arena, self._begins, self._lengths, self._counts
        return Table(*arrays, np.uint64(self._limit()))

    def _limit(self) -> int:
        return len(self._slots) // 6

    def _make_room(self, count: int) -> None:
        """Make room for the bytes of names."""
        used = int(self._counts[1])
        if used + count > len(self._arena):
            memory.require(2 * used + count, f"the names of {self._where}")
            larger = np.empty(2 * used + count, np.uint8)  # pages without names use no memory
            larger[:used] = self._arena[:used]
            self._arena = larger

    def _grow(self) -> None:
        """Double the number of slots."""
        from evener.kernels.cpu import names as kernels

        slots = 2 * len(self._slots) // 3
        memory.require(_SLOT_BYTES * slots, f"the ids of {self._where}")
        larger = np.zeros(3 * slots, np.uint64)
        kernels.rehash(self._slots, larger, self._parts)
        self._slots = larger
        used = len(self)
        begins, lengths = np.empty(slots, np.uint64), np.empty(slots, np.uint32)
        begins[:used], lengths[:used] = self._begins[:used], self._lengths[:used]
        self._begins, self._lengths = begins, lengths


def text_array(strings: Any) -> NDArray[Any]:
    """Return large Arrow strings as `string_array` does."""
    import numba
    import pyarrow.compute as pc

    from evener.kernels.cpu import names as kernels

    lengths = pc.utf8_length(strings)
    longest = max(pc.max(lengths).as_py() or 0, 1)
    if not fit_one_width(longest, pc.sum(lengths).as_py() or 0, len(strings)):
        return string_array(strings.to_pylist())
    memory.require(4 * longest * len(strings), f"the list of {len(strings):,} vertex ids")
    characters = np.zeros((len(strings), longest), np.uint32)
    kernels.write_characters(*_buffers(strings), characters, numba.get_num_threads())
    return characters.view(f"U{longest}").ravel()


def _buffers(strings: Any) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the bytes and the offsets of Arrow strings."""
    import pyarrow as pa

    _, places, content = strings.buffers()
    kind = np.dtype(np.int64 if pa.types.is_large_string(strings.type) else np.int32)
    if places is None or not len(strings):
        return read_only(np.empty(0, np.uint8)), read_only(np.zeros(1, np.int64))
    offsets = np.frombuffer(places, kind, len(strings) + 1, strings.offset * kind.itemsize)
    text = np.empty(0, np.uint8) if content is None else np.frombuffer(content, np.uint8)
    return read_only(text), read_only(offsets.astype(np.int64, copy=False))
