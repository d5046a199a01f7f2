"""Operators: Python functions of a user, checked and compiled for CPUs.

An operator is a pure function of numbers. Its code may use numbers, modules of mathematics and other pure
functions from outside. Their values are read when the operator is checked. Numbers become arguments of the
compiled code, so other numbers compile nothing. All else becomes constants, and part of the key of the code.
"""

from __future__ import annotations

import dis
import inspect
import operator
import re
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import typeof, types
from numba.core.dispatcher import Dispatcher
from numba.extending import overload

from evener.errors import ArgumentError
from evener.graph.checks import type_name
from evener.kernels.compile_clock import compiling
from evener.kernels.cpu.jit import inlined
from evener.programs.outer_values import outer_key
from evener.programs.pure_functions import ADVICE, place_of, pure_function, python_function
from evener.system.fingerprint import content_of, digest_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Operator", "read_operator", "type_text"]

# Operators kept in memory, by their code and the values that it reads from outside.
_MAX_OPERATORS = 256
_operators: dict[Any, Operator] = {}


@dataclass(frozen=True)
class Operator:
    """A checked operator."""

    name: str  # The argument that gave the function.
    python: FunctionType  # The function of the user.
    function: FunctionType  # It has the values of outer variables, and more parameters for `numbers`.
    own: tuple[str, ...]  # The parameters whose meaning follows from their position.
    extra: tuple[str, ...]  # The parameters after them.
    reads: frozenset[str]  # The parameters of `own` that the code reads.
    reorder: bool  # LLVM may reorder the arithmetic.
    numbers: tuple[Any, ...]  # The numbers that the code uses from outside.
    key: str  # It identifies the code, the types of `numbers`, and all other values that the code uses.

    @property
    def code(self) -> str:
        """Identifies the compiled code, with its parameters."""
        return f"{self.key} {' '.join(self.extra)}"

    @property
    def meaning(self) -> str:
        """Identifies the operator with all its values."""
        return f"{self.code} {self.numbers!r}"

    @cached_property
    def fixed(self) -> Operator:
        """The operator with its numbers as constants."""
        if not self.numbers:
            return self
        pure = pure_function(self.name, self.python, arguments=False)
        return replace(self, function=pure.function, numbers=(), key=pure.key)

    @cached_property
    def compiled(self) -> Any:
        """The function with parameters for `numbers`, which Numba compiles at its first call."""
        compiled = inlined(self.function, reorder=self.reorder)
        compiled.pure_key = self.key
        return compiled

    def adapter(self, extra: Sequence[str], numbers: Sequence[str] | None = None) -> FunctionType:
        """Return a function that calls the operator, with all the parameters `extra` after its own.

        It raises no exception itself, which a C function for a GPU cannot. `numbers` is the code of each of
        the operator's numbers, given a last parameter `numbers`. Without it, the operator has no numbers.
        """
        own = [f"own_{i}" for i in range(len(self.own))]
        last = [] if numbers is None else ["numbers"]
        given, taken = ", ".join([*own, *extra, *last]), ", ".join([*own, *self.extra, *(numbers or [])])
        names = {"function": self.compiled, "__name__": __name__}
        # The names come from fixed lists.
        adapter: FunctionType = eval(f"lambda {given}: function({taken})", names)  # noqa: S307
        return adapter

    def adapted(self, extra: Sequence[str], first: int) -> Any:
        """Return the function with all the parameters `extra`, and then a tuple with numbers of operators.

        The operator's own numbers begin at the position `first`.
        """
        numbers = [f"numbers[{first + i}]" for i in range(len(self.numbers))]
        return inlined(self.adapter(extra, numbers))

    def fixed_adapted(self, extra: Sequence[str]) -> Any:
        """Return the function with all the parameters `extra`, and with numbers as constants."""
        return self.fixed.compiled if tuple(extra) == self.extra else inlined(self.fixed.adapter(extra))

    @property
    def where(self) -> str:
        """The file and the line of the function, and the text of the line."""
        return place_of(self.python.__code__)

    def explain(self, error: Exception) -> ArgumentError:
        """Return the error for code that cannot be compiled, with its line."""
        return ArgumentError(_compile_message(self, error))

    def returned(self, own: Sequence[types.Type], extra: Mapping[str, types.Type]) -> types.Type:
        """Compile the operator for parameters of these types, and return the type of its result.

        An error names the line of an operator that cannot be compiled, or that returns unsigned integers.
        """
        signature = (*own, *(extra[name] for name in self.extra), *map(typeof, self.numbers))
        try:
            with compiling():
                self.compiled.compile(signature)
        except Exception as error:  # noqa: BLE001 - Numba has many types of errors
            raise self.explain(error) from None
        returned = self.compiled.overloads[signature].signature.return_type
        if _has_uint64(returned):
            msg = (
                f"{self.name}: returns uint64 at {self.where}, and values from 2^63 on would be negative; "
                "convert it with np.int64"
            )
            raise ArgumentError(msg)
        return returned

    def unexpected(self, returned: types.Type, expected: str, more: str = "") -> ArgumentError:
        """Return the error for a result of another type."""
        found = f"{type_text(returned)} at {self.where}{more}"
        return ArgumentError(f"{self.name}: expected a function that returns {expected}, found {found}")

    def check_truth(self, returned: types.Type, what: str) -> None:
        """Raise an error unless a result is a truth value; a floating-point number may be NaN."""
        if not isinstance(returned, types.Integer | types.Boolean):
            raise self.unexpected(returned, what)

    def check_number(
        self,
        returned: types.Type,
        wide: types.Type,
        what: str = "a number",
        target: str = "integer values",
    ) -> None:
        """Raise an error unless a result is a number that a value of the type `wide` holds.

        `what` is the expected result, and `target` what the number is for, in messages.
        """
        if not isinstance(returned, types.Integer | types.Boolean | types.Float):
            raise self.unexpected(returned, what)
        if isinstance(returned, types.Float) and isinstance(wide, types.Integer):
            msg = (
                f"{self.name}: returns a floating-point number for {target} at {self.where}; use // "
                "instead of /, or give the first values as floating-point numbers"
            )
            raise ArgumentError(msg)


def _has_uint64(found: types.Type) -> bool:
    found = found.type if isinstance(found, types.Optional) else found
    return any(map(_has_uint64, found)) if isinstance(found, types.BaseTuple) else found == types.uint64


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
    """Return the operator of a Python function that the argument `name` gave.

    It has `own` parameters, and further parameters with names in `extra`. A built-in function such as ``min``
    or a function of ``operator`` takes two values. LLVM may `reorder` the arithmetic of an associative
    function. An ArgumentError is raised for other objects or parameters, or if the code is not a pure
    function of numbers.
    """
    given = python_function(given)
    if isinstance(given, BuiltinFunctionType | np.ufunc):
        builtin = given
        given = lambda a, b: builtin(a, b)  # noqa: E731 - gives a built-in function bytecode
        given.__code__ = given.__code__.replace(co_filename=repr(builtin), co_firstlineno=1)
    if not isinstance(given, FunctionType):
        msg = f"{name}: expected a Python function, found {type_name(given)}; write it with def or lambda"
        raise ArgumentError(msg)
    outer = outer_key(given)
    key = (name, given.__code__, given.__code__.co_filename, outer, tuple(extra), own, reorder)
    if outer is not None and key in _operators:
        return _operators[key]
    first, others = _parameters(name, given, extra, own)
    pure = pure_function(name, given, arguments=True)
    reads = _read_parameters(given.__code__, first)
    read = Operator(name, given, pure.function, first, others, reads, reorder, pure.numbers, pure.key)
    if outer is not None:
        while len(_operators) >= _MAX_OPERATORS:
            _operators.pop(next(iter(_operators)), None)
        _operators[key] = read
    return read


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
    code = function.__code__
    has_more = code.co_kwonlyargcount or code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    names = code.co_varnames[: code.co_argcount]
    if not has_more and not function.__defaults__ and len(names) >= own and set(names[own:]) <= set(extra):
        return names[:own], names[own:]
    expected = ("no parameter", "one parameter", "two parameters")[own]
    more = f", then any of {', '.join(extra)}" if extra else ""
    found = f"{inspect.signature(function)} at {place_of(function.__code__)}"
    msg = f"{name}: expected {expected}{more}, without defaults; found {found}"
    raise ArgumentError(msg)


@content_of.register(FunctionType)
def _(function: FunctionType) -> list[bytes]:
    """Return the key of a function, by which ranks compare it; the error of a function without a key."""
    try:
        key = pure_function("function", function, arguments=False).key
    except ArgumentError as error:
        key = str(error)
    return [key.encode()]


@content_of.register(Dispatcher)
def _(function: Any) -> list[bytes]:
    return [digest_of(function.py_func)]


def _compile_message(found: Operator, error: Exception) -> str:
    """Return the first sentence of an error of Numba, with the line of the operator."""
    code = found.python.__code__
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
    return f"{found.name}: cannot be compiled: {reason.rstrip('.:')}, at {place_of(code, at)}; {ADVICE}"
