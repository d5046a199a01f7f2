"""Pure functions: checked copies of a user's functions, which Numba compiles.

Idea: the code of a function stays as it is. Its outer names get the values that they have at the time of the
check. A function can also get the numbers among these values as arguments. A function around it then passes
them: Numba inlines the inner function, and its free variables become variables of the outer function.
"""

from __future__ import annotations

import builtins
import dis
import hashlib
import linecache
import sys
from dataclasses import dataclass
from types import CellType, CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
from numba.core.dispatcher import Dispatcher

from evener.errors import ArgumentError
from evener.graph.checks import type_name
from evener.kernels.cpu.jit import inlined
from evener.programs.outer_values import (
    Read,
    constant_key,
    is_library,
    is_number,
    is_random,
    nested_codes,
    plain_value,
    reads_of,
    replace_reads,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["ADVICE", "PureFunction", "place_of", "pure_function", "python_function"]

# Instructions of functions that are not pure, or that Numba cannot run in parallel.
_FORBIDDEN = {
    "STORE_GLOBAL": "sets a global variable",
    "DELETE_GLOBAL": "deletes a global variable",
    "STORE_ATTR": "sets an attribute",
    "RAISE_VARARGS": "raises an exception",
    "YIELD_VALUE": "is a generator",
    "IMPORT_NAME": "imports a module",
}
# Characters of a line of code in a message.
_MAX_TEXT = 80
ADVICE = "write a pure function of numbers"
# The value of a free variable that code no longer reads.
_UNUSED = 0


@dataclass(frozen=True)
class PureFunction:
    """A checked function."""

    function: FunctionType  # with further parameters for `numbers`
    numbers: tuple[Any, ...]  # the outer numbers that are arguments
    key: str  # identifies the code, its constants, and the types of `numbers`


def pure_function(name: str, function: FunctionType, *, arguments: bool) -> PureFunction:
    """Return a checked copy of a function that the argument `name` gave.

    With `arguments`, outer numbers are arguments instead of constants. Those of other functions that the
    function calls are constants. An ArgumentError is raised if one of the functions is recursive or not pure.
    """
    return _Check(name, function, ()).result(arguments=arguments)


class _Check:
    """The check of a function, and of all functions that it calls."""

    def __init__(self, name: str, function: FunctionType, callers: tuple[CodeType, ...]) -> None:
        self.name, self.given, self.code = name, function, function.__code__
        if self.code in callers:
            raise self._error("recursion", self.code, advice="write a loop instead")
        self.callers = (*callers, self.code)
        # The values of global names, and of free variables and of reads that can become variables.
        self.globals: dict[str, Any] = {"__builtins__": builtins, "__name__": __name__}
        self.values: dict[str, Any] = {}
        self.replaced: dict[str, list[Read]] = {}
        self.keys: dict[str, str] = {}
        self._read_names(self.code, inner=False)
        self.defaults = tuple(map(self._default, function.__defaults__ or ()))
        if self.code.co_kwonlyargcount:
            msg = f"{name}: expected no parameters after *, found some at {place_of(self.code)}"
            raise ArgumentError(msg)

    def result(self, *, arguments: bool) -> PureFunction:
        """Return the checked copy."""
        given = [
            name
            for name, value in self.values.items()
            if arguments and is_number(value) and not isinstance(value, bool | np.bool_)
        ]
        # Constants that the code reads by a global name stay global.
        as_global = {text for text in self.replaced if text not in given and "." not in text}
        as_free = {text: reads for text, reads in self.replaced.items() if text not in as_global}
        try:
            code = replace_reads(self.code, as_free)
        except ValueError:
            advice = "write several functions"
            raise self._error("too many variables", self.code, advice=advice) from None
        names = self.globals | {text: self.values[text] for text in as_global}
        values = [self.values.get(name, _UNUSED) for name in code.co_freevars]
        are_given = [name in given for name in code.co_freevars]
        numbers = tuple(one for one, is_given in zip(values, are_given, strict=True) if is_given)
        keys = self.keys | {name: f"{type(self.values[name]).__name__} argument" for name in given}
        parts = [_code_key(self.code), repr(sys.version_info[:2]), numba.__version__]
        key = hashlib.sha256("\n".join([*parts, *(f"{k}={one}" for k, one in keys.items())]).encode())
        if numbers:
            function = self._around(code, names, values, are_given)
        else:
            cells = tuple(map(CellType, values))
            function = FunctionType(code, names, self.given.__name__, self.defaults or None, cells)
        return PureFunction(function, numbers, key.hexdigest())

    def _around(
        self, code: CodeType, names: dict[str, Any], values: Sequence[Any], given: Sequence[bool]
    ) -> FunctionType:
        """Return a function that passes its last parameters to the code as free variables."""
        # The compiler sorts free variables by name.
        free = [f"free_{i:03}" for i in range(len(values))]
        own = [f"own_{i}" for i in range(code.co_argcount)]
        numbers = [name for name, is_given in zip(free, given, strict=True) if is_given]
        others = [name for name, is_given in zip(free, given, strict=True) if not is_given]
        text = (
            f"def within({', '.join(others)}):\n"
            f"    def around({', '.join([*own, *numbers])}):\n"
            f"        def placeholder(): {', '.join(free)}\n"
            f"        return placeholder({', '.join(own)})\n"
        )
        (within,) = nested_codes(compile(text, "<operator>", "exec"))
        (around,) = nested_codes(within)
        constants = tuple(code if isinstance(one, CodeType) else one for one in around.co_consts)
        around = around.replace(co_consts=constants)
        cells = tuple(CellType(one) for one, is_given in zip(values, given, strict=True) if not is_given)
        return FunctionType(around, names, self.given.__name__, None, cells)

    def _read_names(self, code: CodeType, *, inner: bool, local: frozenset[str] = frozenset()) -> None:
        """Find the value of each outer name that code reads. `local` are names of the functions around it."""
        self._forbid(code)
        for read in reads_of(code):
            if read.path[0] not in local:
                self._read(read, code, inner=inner)
        for nested in nested_codes(code):
            own = local | {*code.co_varnames, *code.co_cellvars}
            self._read_names(nested, inner=True, local=own & {*nested.co_freevars})

    def _read(self, read: Read, code: CodeType, *, inner: bool) -> None:
        base = self._base(read, code)
        value = base
        for depth, attribute in enumerate(read.path[1:], 2):
            self._forbid_random(value, code, read)
            try:
                value = getattr(value, attribute)
            except AttributeError:
                raise self._undefined(".".join(read.path[:depth]), code, read) from None
        kept, key = self._constant(plain_value(value), base, code, read)
        name, is_attribute = read.path[0], len(read.path) > 1 and not is_library(base)
        if is_library(base):
            kept = base
        elif not inner and not read.called and (is_attribute or is_number(kept)):
            if is_attribute or name not in self.code.co_freevars:
                self.replaced.setdefault(read.text, []).append(read)
            self.values[read.text], self.keys[read.text] = kept, key
            return
        if is_attribute:
            where = " in an inner function" if inner else " in a call"
            advice = "give it a name of its own in the function or before it"
            raise self._error(f"reads {read.text!r}{where}", code, read.line, advice)
        (self.values if name in self.code.co_freevars else self.globals)[name] = kept
        self.keys[f"constant {read.text}"] = key

    def _base(self, read: Read, code: CodeType) -> Any:
        """Return the value of a global or enclosing name."""
        name, free = read.path[0], self.code.co_freevars
        if name in free:
            cell = (self.given.__closure__ or ())[free.index(name)]
            try:
                return cell.cell_contents
            except ValueError:  # not set yet
                raise self._undefined(name, code, read) from None
        try:
            return self.given.__globals__[name] if name in self.given.__globals__ else vars(builtins)[name]
        except KeyError:
            raise self._undefined(name, code, read) from None

    def _constant(self, value: Any, base: Any, code: CodeType, read: Read) -> tuple[Any, str]:
        """Return an outer value as a constant, compiled if it is a function, and its key."""
        self._forbid_random(value, code, read)
        own_key = getattr(value, "pure_key", None)  # of an operator that is compiled
        if isinstance(value, Dispatcher) and own_key is not None:
            return value, own_key
        key = constant_key(value)
        if key is not None:
            return value, key
        value = python_function(value)
        if isinstance(value, FunctionType):
            pure = _Check(self.name, value, self.callers).result(arguments=False)
            return inlined(pure.function), pure.key
        if value is print:  # threads of a kernel may wait for Python's lock forever
            advice = f"{ADVICE}, and call it from Python to see its values"
            raise self._error("prints", code, read.line, advice)
        shows_value = is_library(base) or isinstance(base, type)
        text, found = (read.text, value) if shows_value else (read.path[0], base)
        kind = f"the module {found.__name__}" if isinstance(found, ModuleType) else type_name(found)
        advice = f"{ADVICE}, which may use numbers, tuples of numbers, functions, math and numpy from outside"
        raise self._error(f"uses {text!r} ({kind})", code, read.line, advice)

    def _default(self, value: Any) -> Any:
        """Return the default of a parameter, which is a constant."""
        value = plain_value(value)
        key = constant_key(value)
        if key is None:
            found = f"the default {value!r} at {place_of(self.code)}"
            msg = f"{self.name}: expected numbers as defaults of functions, found {found}"
            raise ArgumentError(msg)
        self.keys[f"default {len(self.keys)}"] = key
        return value

    def _error(
        self, what: str, code: CodeType, line: int | None = None, advice: str = ADVICE
    ) -> ArgumentError:
        return ArgumentError(f"{self.name}: {what} at {place_of(code, line)}; {advice}")

    def _undefined(self, text: str, code: CodeType, read: Read) -> ArgumentError:
        msg = f"{self.name}: the name {text!r} is not defined, at {place_of(code, read.line)}"
        return ArgumentError(msg)

    def _forbid_random(self, value: Any, code: CodeType, read: Read) -> None:
        if is_random(value):
            raise self._error("uses random numbers", code, read.line)

    def _forbid(self, code: CodeType) -> None:
        """Raise an error for instructions of functions that are not pure."""
        line = code.co_firstlineno
        for step in dis.get_instructions(code):
            line = step.positions.lineno if step.positions and step.positions.lineno else line
            outside = step.opname == "STORE_DEREF" and step.argval in code.co_freevars
            if outside or step.opname in _FORBIDDEN:
                reason = _FORBIDDEN.get(step.opname, "sets a variable of an enclosing function")
                raise self._error(reason, code, line)


def python_function(value: Any) -> Any:
    """Return the Python function of a function that Numba has compiled, and another value as it is.

    Types that a caller has declared for Numba can change what a function returns, so such a function stays.
    """
    return value.py_func if isinstance(value, Dispatcher) and not value.locals else value


def place_of(code: CodeType, line: int | None = None) -> str:
    """Return the place of a line of code, and its text if the file is there."""
    number = line or code.co_firstlineno
    text = linecache.getline(code.co_filename, number).strip()[:_MAX_TEXT]
    return f"{code.co_filename}, line {number}" + (f": {text}" if text else "")


def _code_key(code: CodeType) -> str:
    constants = [_code_key(one) if isinstance(one, CodeType) else repr(one) for one in code.co_consts]
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    counts = (code.co_flags, code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount)
    return repr((code.co_code, code.co_exceptiontable, constants, names, counts))
