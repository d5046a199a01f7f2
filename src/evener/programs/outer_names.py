"""Reads of outer names in bytecode: where code reads a global or enclosing name, and its attributes.

A read such as ``Rate.STEP.value`` is one value for the code. `replace_reads` lets code read such a value from
a variable instead. Instructions keep their places, so jumps and line numbers stay valid.
"""

from __future__ import annotations

import dis
import sys
from types import CodeType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["Read", "nested_codes", "reads_of", "replace_reads"]

_WIDTH = 2  # bytes of an instruction, of a cache entry and of EXTENDED_ARG
# Since Python 3.12, LOAD_ATTR has a bit for the attribute of a call.
_HAS_METHOD_BIT = sys.version_info >= (3, 12)


class Read(NamedTuple):
    """A read of an outer name."""

    path: tuple[str, ...]  # the name, and the attributes that follow it
    line: int
    begin: int  # the bytes of the instructions
    end: int
    called: bool  # the instructions prepare a call of the value

    @property
    def text(self) -> str:
        """The read as in the source."""
        return ".".join(self.path)


def nested_codes(code: CodeType) -> Iterator[CodeType]:
    """Yield the code of each function that is defined in the code."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant


def reads_of(code: CodeType) -> list[Read]:
    """Return all reads of global and enclosing names, without those of nested functions."""
    steps, begins, begin = [], [], None
    for step in dis.get_instructions(code):
        begin = step.offset if begin is None else begin
        if step.opname != "EXTENDED_ARG":
            steps.append(step)
            begins.append(begin)
            begin = None
    begins.append(len(code.co_code))
    found, line, i = [], code.co_firstlineno, 0
    while i < len(steps):
        step, first = steps[i], i
        line = step.positions.lineno if step.positions and step.positions.lineno else line
        i += 1
        if step.opname not in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF"):
            continue
        if "DEREF" in step.opname and step.argval not in code.co_freevars:
            continue
        path, called = [str(step.argval)], step.opname == "LOAD_GLOBAL" and bool((step.arg or 0) & 1)
        ends = False
        while not ends and i < len(steps) and _is_attribute(steps[i]):
            step = steps[i]
            path.append(str(step.argval))
            ends = step.opname == "LOAD_METHOD" or (_HAS_METHOD_BIT and bool((step.arg or 0) & 1))
            i += 1
        called = called or ends
        found.append(Read(tuple(path), line, begins[first], begins[i], called))
    return found


def _is_attribute(step: dis.Instruction) -> bool:
    """Return whether an instruction reads an attribute of the value before it, in all executions."""
    return step.opname in ("LOAD_ATTR", "LOAD_METHOD") and not step.is_jump_target


def replace_reads(code: CodeType, reads: Mapping[str, list[Read]]) -> CodeType:
    """Return code that reads new free variables in the place of the reads, which prepare no calls.

    Python cannot run code with new free variables, because no instruction copies them. Numba can compile it.
    A ValueError is raised if the code has too many variables for instructions of two bytes.
    """
    # A cell variable that is a parameter has one place.
    places = len({*code.co_varnames, *code.co_cellvars}) + len(code.co_freevars)
    changed = bytearray(code.co_code)
    for place, own in enumerate(reads.values(), places):
        for read in own:
            unused = (read.end - read.begin) // _WIDTH - 1
            instructions = [dis.opmap["LOAD_DEREF"], place, *[dis.opmap["NOP"], 0] * unused]
            changed[read.begin : read.end] = bytes(instructions)
    return code.replace(co_code=bytes(changed), co_freevars=(*code.co_freevars, *reads))
