"""Operators: Python functions of a user, checked and compiled for CPUs.

An operator is a pure function of numbers. Its code may use numbers, modules of mathematics and other pure
functions from outside. Their values at the time of the check become constants of the compiled code, and part
of its key in the cache.
"""

from __future__ import annotations

import builtins
import cmath
import dis
import hashlib
import inspect
import linecache
import math
import operator
import re
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
from numba import types
from numba.core.dispatcher import Dispatcher
from numba.extending import overload

from evener.errors import ArgumentError
from evener.graph.checks import type_name
from evener.kernels.compile_clock import compiling
from evener.kernels.cpu.jit import inlined
from evener.system.fingerprint import content_of, digest_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["Operator", "read_operator", "type_text"]

_MODULES = (math, cmath, np, operator)
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
_ADVICE = "write a pure function of numbers"


@dataclass(frozen=True)
class Operator:
    """A checked operator.

    Attributes
    ----------
    name : str
        The argument that gave the function.
    python : function
        The function of the user.
    function : function
        The same function, with constants in the place of global and enclosing variables.
    own : tuple of str
        Names of the parameters whose meaning follows from their position.
    extra : tuple of str
        Names of the parameters after them.
    reads : frozenset of str
        The parameters of `own` that the code reads.
    reorder : bool
        Whether LLVM may reorder the arithmetic.
    key : str
        Identifies the code and the values that it uses.
    """

    name: str
    python: FunctionType
    function: FunctionType
    own: tuple[str, ...]
    extra: tuple[str, ...]
    reads: frozenset[str]
    reorder: bool
    key: str

    @cached_property
    def compiled(self) -> Any:
        """The function, which Numba compiles at its first call."""
        return inlined(self.function, reorder=self.reorder)

    def adapter(self, extra: Sequence[str]) -> FunctionType:
        """Return a function that calls the operator, with all the parameters `extra` after its own.

        It raises no exception itself, which a C function for a GPU cannot.
        """
        own = [f"own_{i}" for i in range(len(self.own))]
        given, taken = (", ".join([*own, *names]) for names in (extra, self.extra))
        names = {"function": self.compiled, "__name__": __name__}
        # The names come from fixed lists.
        adapter: FunctionType = eval(f"lambda {given}: function({taken})", names)  # noqa: S307
        return adapter

    def adapted(self, extra: Sequence[str]) -> Any:
        """Return the function with all the parameters `extra`, which Numba compiles at its first call."""
        return self.compiled if tuple(extra) == self.extra else inlined(self.adapter(extra))

    @property
    def where(self) -> str:
        """The file and the line of the function, and the text of the line."""
        return _line(self.function.__code__)

    def explain(self, error: Exception) -> ArgumentError:
        """Return the error for code that cannot be compiled, with its line."""
        return ArgumentError(_compile_message(self, error))

    def returned(self, own: Sequence[types.Type], extra: Mapping[str, types.Type]) -> types.Type:
        """Compile the operator for parameters of these types, and return the type of its result.

        Raises
        ------
        ArgumentError
            With the line of the operator that cannot be compiled.
        """
        signature = (*own, *(extra[name] for name in self.extra))
        try:
            with compiling():
                self.compiled.compile(signature)
        except Exception as error:  # noqa: BLE001 - Numba has many types of errors
            raise self.explain(error) from None
        return self.compiled.overloads[signature].signature.return_type

    def check_truth(self, returned: types.Type, what: str) -> None:
        """Raise an error unless a result is a truth value; a floating-point number may be NaN.

        Raises
        ------
        ArgumentError
            With the place of the operator.
        """
        if not isinstance(returned, types.Integer | types.Boolean):
            found = f"{type_text(returned)} at {self.where}"
            msg = f"{self.name}: expected a function that returns {what}, found {found}"
            raise ArgumentError(msg)

    def check_number(
        self,
        returned: types.Type,
        wide: types.Type,
        what: str = "a number",
        target: str = "integer values",
    ) -> None:
        """Raise an error unless a result is a number that a value of the type `wide` holds.

        `what` is the expected result, and `target` what the number is for, in messages.

        Raises
        ------
        ArgumentError
            With the place of the operator.
        """
        if not isinstance(returned, types.Integer | types.Boolean | types.Float):
            found = f"{type_text(returned)} at {self.where}"
            msg = f"{self.name}: expected a function that returns {what}, found {found}"
            raise ArgumentError(msg)
        if isinstance(returned, types.Float) and isinstance(wide, types.Integer):
            msg = (
                f"{self.name}: returns a floating-point number for {target} at {self.where}; use // "
                "instead of /, or give the first values as floating-point numbers"
            )
            raise ArgumentError(msg)


def _compile_for_tuples(function: Any, precedes: Any) -> None:
    """Let Numba compile `min` or `max` for two tuples, as for two numbers."""
    choose = lambda x, y: y if precedes(y, x) else x  # noqa: E731 - Numba refuses annotations
    overload(function)(
        lambda x, y: choose if isinstance(x, types.BaseTuple) and isinstance(y, types.BaseTuple) else None
    )


_compile_for_tuples(min, operator.lt)
_compile_for_tuples(max, operator.gt)


def type_text(found: types.Type) -> str:
    """Return a type of Numba in the words of Python, for messages."""
    if isinstance(found, types.Optional):
        return f"{type_text(found.type)} or None"
    if isinstance(found, types.BaseTuple) and not isinstance(found, types.BaseNamedTuple):
        parts = ", ".join(map(type_text, found))
        return f"({parts},)" if len(found) == 1 else f"({parts})"
    names = {
        types.NoneType: "None", types.Boolean: "bool", types.Integer: "int", types.Float: "float",
        types.UnicodeType: "str", types.StringLiteral: "str", types.BaseNamedTuple: "the state",
    }  # fmt: skip
    return next((name for kind, name in names.items() if isinstance(found, kind)), str(found))


def read_operator(
    name: str, given: Any, extra: Sequence[str], *, own: int = 2, reorder: bool = False
) -> Operator:
    """Return the operator of a Python function.

    Parameters
    ----------
    name : str
        The argument that gave the function, for messages.
    given : function
        A Python function of `own` parameters, and of further parameters with names in `extra`. A built-in
        function such as ``min`` or a function of ``operator`` takes two values.
    extra : sequence of str
    own : int, default 2
    reorder : bool, default False
        Whether LLVM may reorder the arithmetic, because the function is associative.

    Raises
    ------
    ArgumentError
        For another kind of object, other parameters, or code that is not a pure function of numbers.
    """
    given = getattr(given, "py_func", given)  # a function that Numba has compiled
    if isinstance(given, BuiltinFunctionType | np.ufunc):
        builtin = given
        given = lambda a, b: builtin(a, b)  # noqa: E731 - gives a built-in function bytecode
        given.__code__ = given.__code__.replace(co_filename=repr(builtin), co_firstlineno=1)
    if not isinstance(given, FunctionType):
        msg = f"{name}: expected a Python function, found {type_name(given)}; write it with def or lambda"
        raise ArgumentError(msg)
    first, others = _parameters(name, given, extra, own)
    function, key = _pure(name, given, ())
    return Operator(
        name, given, function, first, others, _read_parameters(given.__code__, first), reorder, key
    )


def _read_parameters(code: CodeType, names: Sequence[str]) -> frozenset[str]:
    """Return the parameters that code reads, or that a function in the code may read."""
    read = set(names) & set(code.co_cellvars)
    for step in dis.get_instructions(code):
        if "LOAD_FAST" in step.opname:
            read |= set(names) & {step.argval, *_names(step.argval)}
    return frozenset(read)


def _names(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else ()


def _parameters(
    name: str, function: FunctionType, extra: Sequence[str], own: int
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the first `own` parameters, and of the others."""
    parameters = list(inspect.signature(function).parameters.values())
    simple = all(
        one.kind in (one.POSITIONAL_OR_KEYWORD, one.POSITIONAL_ONLY) and one.default is one.empty
        for one in parameters
    )
    names = tuple(one.name for one in parameters)
    if simple and len(parameters) >= own and set(names[own:]) <= set(extra):
        return names[:own], names[own:]
    expected = ("no parameter", "one parameter", "two parameters")[own]
    more = f", then any of {', '.join(extra)}" if extra else ""
    found = f"{inspect.signature(function)} at {_line(function.__code__)}"
    msg = f"{name}: expected {expected}{more}, without defaults; found {found}"
    raise ArgumentError(msg)


def _pure(name: str, function: FunctionType, callers: tuple[CodeType, ...]) -> tuple[FunctionType, str]:
    """Return the function with constants in the place of outer variables, and the key of its code.

    Raises
    ------
    ArgumentError
        If the function, or a function that it calls, is recursive or not pure.
    """
    code = function.__code__
    if code in callers:
        msg = f"{name}: recursion at {_line(code)}; write a loop instead"
        raise ArgumentError(msg)
    if "random" in code.co_names:
        msg = f"{name}: uses random numbers at {_line(code)}; {_ADVICE}"
        raise ArgumentError(msg)
    keys = [_code_key(code), repr(sys.version_info[:2]), numba.__version__]
    outer: dict[str, Any] = {}
    for used, line in _outer_names(name, code):
        if used in outer:
            continue
        value = _outer_value(function, used)
        if value is NotImplemented:
            msg = f"{name}: the name {used!r} is not defined, at {_line(code, line)}"
            raise ArgumentError(msg)
        outer[used], key = _constant(name, used, value, code, line, (*callers, code))
        keys.append(f"{used}={key}")
    cells = tuple(CellType(outer[free]) for free in code.co_freevars)
    names = {used: value for used, value in outer.items() if used not in code.co_freevars}
    names |= {"__builtins__": builtins, "__name__": __name__}
    pure = FunctionType(code, names, function.__name__, None, cells)
    return pure, hashlib.sha256("\n".join(keys).encode()).hexdigest()


def _constant(
    name: str, used: str, value: Any, code: CodeType, line: int, callers: tuple[CodeType, ...]
) -> tuple[Any, str]:
    """Return an outer value as a constant, compiled if it is a function, and its key."""
    value = getattr(value, "py_func", value)
    if isinstance(value, FunctionType):
        function, key = _pure(name, value, callers)
        return inlined(function), key
    numbers = value if isinstance(value, tuple) else (value,)
    if all(isinstance(one, bool | int | float | np.number | np.bool_) for one in numbers):
        return value, f"{type(value).__name__}:{value!r}"
    if value is print:  # threads of a kernel may wait for Python's lock forever
        msg = f"{name}: prints at {_line(code, line)}; {_ADVICE}, and call it from Python to see its values"
        raise ArgumentError(msg)
    if any(value is module for module in _MODULES):
        return value, value.__name__
    if isinstance(value, BuiltinFunctionType | np.ufunc | type):
        return value, f"{getattr(value, '__module__', '')}.{value.__name__}"
    kind = f"the module {value.__name__}" if isinstance(value, ModuleType) else type_name(value)
    msg = (
        f"{name}: uses {used!r} ({kind}) at {_line(code, line)}; {_ADVICE}, which may use "
        "numbers, functions, math and numpy from outside"
    )
    raise ArgumentError(msg)


def _outer_names(name: str, code: CodeType) -> Iterator[tuple[str, int]]:
    """Yield the global and enclosing names that code reads, with the lines; raise for forbidden code."""
    line = code.co_firstlineno
    for step in dis.get_instructions(code):
        line = step.positions.lineno if step.positions and step.positions.lineno else line
        if step.opname in _FORBIDDEN or (step.opname == "STORE_DEREF" and step.argval in code.co_freevars):
            reason = _FORBIDDEN.get(step.opname, "sets a variable of an enclosing function")
            msg = f"{name}: {reason} at {_line(code, line)}; {_ADVICE}"
            raise ArgumentError(msg)
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield step.argval, line
    for free in code.co_freevars:
        yield free, code.co_firstlineno
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from (pair for pair in _outer_names(name, constant) if pair[0] not in code.co_cellvars)


def _outer_value(function: FunctionType, used: str) -> Any:
    """Return the value of a global or enclosing name; NotImplemented if it has none."""
    if used in function.__code__.co_freevars:
        cell = (function.__closure__ or ())[function.__code__.co_freevars.index(used)]
        try:
            return cell.cell_contents
        except ValueError:  # not set yet
            return NotImplemented
    return function.__globals__.get(used, getattr(builtins, used, NotImplemented))


@content_of.register(FunctionType)
def _(function: FunctionType) -> list[bytes]:
    """Return the key of a function, by which ranks compare it; the error of a function without a key."""
    try:
        _, key = _pure("function", function, ())
    except ArgumentError as error:
        key = str(error)
    return [key.encode()]


@content_of.register(Dispatcher)
def _(function: Any) -> list[bytes]:
    return [digest_of(function.py_func)]


def _code_key(code: CodeType) -> str:
    constants = [_code_key(one) if isinstance(one, CodeType) else repr(one) for one in code.co_consts]
    return repr(
        (code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    )


def _line(code: CodeType, line: int | None = None) -> str:
    """Return the place of a line of code, and its text if the file is there."""
    number = line or code.co_firstlineno
    text = linecache.getline(code.co_filename, number).strip()[:_MAX_TEXT]
    return f"{code.co_filename}, line {number}" + (f": {text}" if text else "")


def _compile_message(found: Operator, error: Exception) -> str:
    """Return the first sentence of an error of Numba, with the line of the operator."""
    code = found.function.__code__
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    places = re.findall(r'File "([^"]*)", line (\d+)', text)
    own = [int(line) for file, line in places if Path(file).name == Path(code.co_filename).name]
    at = own[-1] if own else None
    sentences = [line.strip() for line in text.splitlines() if line.strip()]
    skipped = ("Failed in", "During:", "File ", "There are", "- Resolution", ">>>")
    reason = next((line for line in sentences if not line.startswith(skipped)), "unsupported code")
    if reason.endswith("found for signature:"):
        reason += next((line.removeprefix(">>>") for line in sentences if line.startswith(">>>")), "")
    reason = re.sub(r"Unknown attribute ('\w+') of type State\(.*", r"the state has no field \1", reason)
    return f"{found.name}: cannot be compiled: {reason.rstrip('.:')}, at {_line(code, at)}; {_ADVICE}"
