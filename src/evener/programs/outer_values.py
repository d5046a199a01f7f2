"""Outer values: the names that operators read from outside, and the values that are allowed.

A read such as ``Rate.STEP.value`` is one value for the code. `replace_reads` lets code read such a value from
a variable instead. Instructions keep their places, so jumps and line numbers stay valid.

Compiled code depends on outer values, so a key represents a value completely. A kind of value that no key
represents is not allowed.
"""

from __future__ import annotations

import builtins
import cmath
import dis
import enum
import math
import operator
import random
import sys
from collections import namedtuple
from functools import lru_cache
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = [
    "Read",
    "constant_key",
    "is_library",
    "is_number",
    "is_random",
    "nested_codes",
    "outer_key",
    "plain_value",
    "reads_of",
    "replace_reads",
]

_WIDTH = 2  # bytes of an instruction, of a cache entry and of EXTENDED_ARG
# Since Python 3.12, LOAD_ATTR has a bit for the attribute of a call.
_HAS_METHOD_BIT = sys.version_info >= (3, 12)
_MODULES = (math, cmath, operator, np, np.linalg)
# Built-in functions and types without effects on anything outside an operator.
_BUILTINS = (
    abs, all, any, bool, chr, complex, dict, divmod, enumerate, filter, float, frozenset, getattr,
    hasattr, int, isinstance, iter, len, list, map, max, min, next, ord, pow, range, reversed, round, set,
    slice, sorted, str, sum, tuple, zip,
)  # fmt: skip
_NUMBERS = (
    bool, int, float, np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32,
    np.uint64, np.float32, np.float64,
)  # fmt: skip
_INT64 = np.iinfo(np.int64)
# The attributes of a class of `namedtuple` or of `typing.NamedTuple`, apart from its fields.
_OF_NAMED_TUPLES = {
    *vars(namedtuple("_Empty", ())),
    *("__annotations__", "__orig_bases__", "__annotate__", "__annotate_func__", "__annotations_cache__"),
    *("__static_attributes__", "__firstlineno__", "__replace__"),
}
# Methods of int that an enumeration may replace without another meaning of its numbers.
_NOT_ARITHMETIC = {
    "__new__", "__repr__", "__str__", "__format__", "__doc__", "__hash__", "__getattribute__", "__sizeof__",
    "__getnewargs__",
}  # fmt: skip


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
    for place, same_reads in enumerate(reads.values(), places):
        for read in same_reads:
            unused = (read.end - read.begin) // _WIDTH - 1
            instructions = [dis.opmap["LOAD_DEREF"], place, *[dis.opmap["NOP"], 0] * unused]
            changed[read.begin : read.end] = bytes(instructions)
    return code.replace(co_code=bytes(changed), co_freevars=(*code.co_freevars, *reads))


def is_library(value: Any) -> bool:
    """Return whether a value is a module whose functions operators may use."""
    return any(value is module for module in _MODULES)


def is_random(value: Any) -> bool:
    """Return whether a value draws random numbers."""
    generators = (random.Random, np.random.RandomState, np.random.Generator)
    owner = getattr(value, "__self__", None)
    is_module = value is random or value is np.random
    return is_module or isinstance(value, generators) or isinstance(owner, generators)


def is_number(value: Any) -> bool:
    """Return whether a value is a number that 64 bits hold."""
    if type(value) is int:
        return bool(_INT64.min <= value <= _INT64.max)
    return type(value) in _NUMBERS


def plain_value(value: Any) -> Any:
    """Return a member of an `IntEnum` as an int, and another value as it is."""
    if not isinstance(value, enum.IntEnum):
        return value
    arithmetic = (name for name in vars(int) if name.startswith("__") and name not in _NOT_ARITHMETIC)
    is_int = all(getattr(type(value), name) is getattr(int, name) for name in arithmetic)
    return int(value) if is_int else value


def constant_key(value: Any) -> str | None:
    """Return the key of a value that code can contain as a constant; None for other kinds of values."""
    if is_number(value):
        return f"{type(value).__name__}:{value!r}"
    if isinstance(value, tuple):
        keys = [constant_key(item) for item in value]
        kind = "tuple" if type(value) is tuple else _class_key(type(value))
        return None if kind is None or None in keys else f"{kind}({', '.join(map(str, keys))})"
    if isinstance(value, np.dtype):
        return f"dtype:{value.str}" if value.kind in "biuf" else None
    if isinstance(value, type) and value is not tuple and issubclass(value, tuple):
        return _class_key(value)
    return _library().get(id(value))


def outer_key(function: FunctionType) -> tuple[str, ...] | None:
    """Return the key of all values that a function may read from outside; None if a value has none."""
    if function.__defaults__ or function.__kwdefaults__:
        return None
    names: set[str] = set()
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        names.update(code.co_names)
        codes.extend(nested_codes(code))
    known = function.__globals__
    values = {name: known[name] for name in names if name in known}
    values |= {name: vars(builtins)[name] for name in names if name not in known and name in vars(builtins)}
    try:
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
    except ValueError:  # not set yet
        return None
    own = [*sorted(values.items()), *zip(function.__code__.co_freevars, cells, strict=True)]
    keys = {name: _key_of(value) for name, value in own}
    return None if None in keys.values() else tuple(f"{name}={key}" for name, key in keys.items())


def _key_of(value: Any) -> str | None:
    return f"module:{value.__name__}" if is_library(value) else constant_key(value)


def _class_key(kind: type) -> str | None:
    """Return the key of a class of named tuples without methods of its own; None for other classes."""
    names = getattr(kind, "_fields", None)
    if kind.__mro__ != (kind, tuple, object) or names is None:
        return None
    defaults = kind._field_defaults  # type: ignore[attr-defined]
    keys = {name: constant_key(item) for name, item in defaults.items()}
    if set(vars(kind)) - _OF_NAMED_TUPLES - set(names) or None in keys.values():
        return None
    return f"{kind.__name__}{names}{keys}"


@lru_cache(maxsize=1)
def _library() -> dict[int, str]:
    """Return the name of each function and type of the libraries, by its identity."""
    names = {id(value): value.__name__ for value in _BUILTINS}
    for module in _MODULES:
        for name, value in vars(module).items():
            if callable(value) and not name.startswith("_"):
                names[id(value)] = f"{module.__name__}.{name}"
    return names


_library()  # before a program can change the modules
