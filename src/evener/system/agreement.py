"""Agreement: errors that all ranks raise, and calls that all ranks make with equal arguments.

At the beginning of a collective call, all ranks exchange one header: the name of the operation and a digest
of its arguments. Only if the digests differ, ranks also exchange the digest of each argument, to name the one
that differs. Calls inside a collective call exchange no header.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from functools import wraps
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar

from evener.errors import EvenerError, MpiError
from evener.system.failure import in_words
from evener.system.fingerprint import Words, digest_of, file_fingerprint, text_of
from evener.system.world import current_world

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from inspect import BoundArguments, Signature

    from evener.system.world import World

P = ParamSpec("P")
T = TypeVar("T")

__all__ = ["OF_A_RANK", "agree", "call_number", "collective", "facts_of", "on_all_ranks"]

# Arguments of a rank, which may differ between ranks.
OF_A_RANK = ("on", "gpu_memory", "progress")
# The digest and the text of an argument that a rank does not give.
_NOTHING = b"", "none"
_REMEDY = "give all ranks the same graph and arguments"
# Whether this thread is in a collective call.
_inside: ContextVar[bool] = ContextVar("inside", default=False)


class _Fact(NamedTuple):
    """The digest of an argument or of a part of it, and a value that describes it in a message."""

    digest: bytes
    shown: Any


def on_all_ranks(world: World, function: Callable[[], T]) -> T:
    """Call a function, and return its value; if it fails on a rank, all ranks raise the lowest rank's error.

    This is a collective operation; all ranks must call it. The function contains no collective operation.
    """
    error: EvenerError | None = None
    try:
        value = function()
    except EvenerError as own:
        error = own
    first = next((one for one in world.allgather(error) if one is not None), None)
    if first is not None:
        raise first
    return value


def collective(
    *,
    own: Sequence[str] = (),
    subject: str = "self",
    files: Sequence[str] = ("graph",),
    in_order: Sequence[str] = (),
    name: str | None = None,
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Let all ranks check, at the beginning of a function, that they call it with equal arguments.

    A single process calls the function at once. With several ranks, the function gets a list in place of an
    iterator or a set.

    Parameters
    ----------
    own : sequence of str
        Arguments that may differ between ranks, in addition to `OF_A_RANK`.
    subject : str, default "self"
        The argument with the attribute `world`. Without one, all ranks of the job call the function.
    files : sequence of str, default ("graph",)
        Arguments that may name a file. All ranks must have the same file.
    in_order : sequence of str
        Arguments that are mappings whose order counts.
    name : str, optional
        The name of the operation for messages. Default: the name of the function and of its class.

    Raises
    ------
    MpiError
        On all ranks, if they call different functions, or with different arguments.
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        parameters = signature(function)
        operation = name or function.__qualname__
        names = list(parameters.parameters)
        place = names.index(subject) if subject in names else None
        of_a_rank = {*own, *OF_A_RANK}

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            if _inside.get():
                return function(*args, **kwargs)
            value = args[place] if place is not None and place < len(args) else kwargs.get(subject)
            world: World | None = getattr(value, "world", None)
            world = current_world() if world is None else world
            if world.size == 1:
                return function(*args, **kwargs)
            given = _Given(parameters, args, kwargs)
            agree(world, operation, lambda: given.facts(of_a_rank, files, in_order))
            before = _inside.set(True)
            try:
                return function(*given.args, **given.kwargs)
            except Exception as error:
                world.end_unless_all_fail(error)
                raise
            finally:
                _inside.reset(before)

        vars(call)["collective"] = frozenset(of_a_rank & set(parameters.parameters))
        return call

    return decorate


def agree(
    world: World, operation: str, facts: Callable[[], Mapping[str, _Fact]], remedy: str = _REMEDY
) -> None:
    """Raise an error on all ranks unless they call the same operation with equal arguments.

    This is a collective operation; all ranks must call it. `facts` returns the arguments by name, as
    `facts_of` does. If it fails on a rank, all ranks raise an error. `remedy` is the end of the message.
    """
    own: Mapping[str, _Fact] = {}
    failure: BaseException | None = None
    try:
        own = facts()
    except Exception as error:  # noqa: BLE001 - the other ranks wait for this one
        failure = error
    whole = hashlib.blake2b(digest_size=16)
    for key, fact in own.items():
        whole.update(digest_of(key) + fact.digest)
    sent = failure
    if failure is not None and not isinstance(failure, EvenerError):
        sent = MpiError(f"{operation}: rank {world.rank} failed: {type(failure).__name__}: {failure}")
    headers = world.allgather((operation, sent, whole.digest()))
    world.calls += 1
    world.made = 0
    operations, failures, digests = zip(*headers, strict=True)
    if len(set(operations)) > 1:
        others, found = _others(operations)
        msg = (
            f"expected the same call on all ranks, found {operations[0]} on rank 0 and {found} on {others}; "
            "all ranks must make the same calls in the same order"
        )
        raise MpiError(msg)
    if failure is not None and failure is not sent:
        raise failure
    if first := next((one for one in failures if one is not None), None):
        raise first
    if len(set(digests)) > 1:
        _raise_difference(world, operation, own, remedy)


def _raise_difference(world: World, operation: str, own: Mapping[str, _Fact], remedy: str) -> None:
    """Raise an error that names the first argument that differs."""
    of_ranks = world.allgather({key: (fact.digest, text_of(fact.shown)) for key, fact in own.items()})
    keys = {key: None for facts in of_ranks for key in facts}
    by_key = ((key, [facts.get(key, _NOTHING) for facts in of_ranks]) for key in keys)
    key, facts = next((key, facts) for key, facts in by_key if len({digest for digest, _ in facts}) > 1)
    digests, texts = zip(*facts, strict=True)
    others, _ = _others(digests)
    rank = next(rank for rank, digest in enumerate(digests) if digest != digests[0])
    found, other = texts[0], texts[rank]
    if found == other:
        found, other = (f"{texts[0]} with checksum {digests[one].hex()[:8]}" for one in (0, rank))
    msg = (
        f"{operation}: expected the same {key} on all ranks, found {found} on rank 0 and {other} on "
        f"{others}; {remedy}"
    )
    raise MpiError(msg)


def _others(of_ranks: Sequence[Any]) -> tuple[str, Any]:
    """Return the ranks that have the first value that differs from that of rank 0, and this value."""
    found = next(one for one in of_ranks if one != of_ranks[0])
    return in_words([rank for rank, one in enumerate(of_ranks) if one == found]), found


def call_number(world: World) -> Words:
    """Return a number for an object that all ranks make together: the same on all ranks, and used once."""
    world.made += 1
    return Words(f"that of collective call {world.calls}.{world.made}")


def facts_of(name: str, value: Any) -> dict[str, _Fact]:
    """Return the digest of an argument, or of each part that its class names; see `digest_of`."""
    agreed = getattr(type(value), "agreed", None)
    if agreed is None:
        return {name: _Fact(digest_of(value), value)}
    parts: Mapping[str, Any] = agreed(value)
    facts = {name: _Fact(digest_of(type(value)), value)}
    return facts | {f"{key} of {name}": _Fact(digest_of(part), part) for key, part in parts.items()}


def _in_one_order(value: Any) -> Any:
    """Return a value whose order is the same on all ranks: a list for a set, and for an iterator."""
    if isinstance(value, Iterator):
        return list(value)
    if isinstance(value, set | frozenset):
        return sorted(value, key=digest_of)
    if type(value) is dict:
        pairs = sorted(value.items(), key=lambda pair: digest_of(pair[0]))
        return {key: _in_one_order(one) for key, one in pairs}
    return value


class _Given:
    """The arguments of a call."""

    def __init__(self, parameters: Signature, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        self._parameters = parameters
        self.args: Any = args
        self.kwargs: Any = kwargs

    def facts(self, own: set[str], files: Sequence[str], in_order: Sequence[str]) -> dict[str, _Fact]:
        """Return the digests of the arguments by name, without those of a rank."""
        bound = self._parameters.bind(*self.args, **self.kwargs)
        for name, value in bound.arguments.items():
            if name not in own and name not in in_order:
                bound.arguments[name] = _in_one_order(value)
        self.args, self.kwargs = bound.args, bound.kwargs
        facts: dict[str, _Fact] = {}
        for name, value in _arguments(bound):
            if name in own:
                continue
            counts = name in in_order and isinstance(value, Mapping)
            facts |= facts_of(name, list(value.items()) if counts else value)
            if name in files and isinstance(value, str | os.PathLike):
                facts |= facts_of(f"content of {name}", file_fingerprint(value))
        return facts


def _arguments(bound: BoundArguments) -> Iterator[tuple[str, Any]]:
    """Yield the arguments by name, with defaults, and further keyword arguments by their own names."""
    bound.apply_defaults()
    for name, value in bound.arguments.items():
        if name == "self":
            if hasattr(type(value), "agreed"):
                yield type(value).__name__, value
        elif bound.signature.parameters[name].kind is Parameter.VAR_KEYWORD:
            yield from sorted(value.items())
        else:
            yield name, value
