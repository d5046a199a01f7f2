"""Change one value of right answers, many times, and count the changes that each verifier notices.

    python benchmarks/verification_mutations.py --mutations 1000

An independent oracle (`oracles.py`) recognizes changes that give another right answer, such as another parent
at the same distance. Verifiers must accept these answers, and refuse all others.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import tempfile
import warnings
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np

import evener as ev
from evener.cli import main as command
from evener.spec import registry
from evener.testing.ranks import run_ranks
from harness import record
from oracles import judge, judgeable
from outside import register_kcore
from small_graphs import draw, draw_arguments, supported, with_weights_option

_UNKNOWN_NUMBER, _UNKNOWN_NAME = 1 << 40, "no such vertex"
# Changes of each answer before the next graph is drawn.
_EACH = 25


@dataclass
class Count:
    """The changes to the answers of an algorithm, and those that the verifier judged wrongly."""

    changed: int = 0
    noticed: int = 0
    other_right: int = 0
    by_command: int = 0
    on_ranks: int = 0
    missed: list = field(default_factory=list)


def mutations(rng, small, spec, right):
    """Yield random changes of one value, as a description and the arrays of the answer."""
    names = list(right)
    while True:
        name = names[rng.integers(len(names))]
        column = spec.column(name)
        values = right[name]
        arrays = dict(right)
        choice = rng.random()
        if choice < 0.06:
            how, arrays[name] = _other_form(rng, values)
        elif choice < 0.10 and column.kind == "distance":
            v, how = int(rng.integers(len(values))), "unreached"
            arrays["distance"] = _changed(right["distance"], v, -1 if values.dtype.kind == "i" else np.inf)
            arrays["parent"] = _changed(right["parent"], v, small.absent)
            name = f"{name} and parent of vertex {v}"
        elif choice < 0.14:
            a, b = rng.integers(len(values), size=2)
            if values.dtype.kind == "f" and np.isclose(values[a], values[b], rtol=1e-3):
                continue
            arrays[name] = values.copy()
            arrays[name][[a, b]] = values[[b, a]]
            how = f"values {a} and {b} exchanged"
        else:
            v = int(rng.integers(len(values)))
            changed = (
                _other_vertex(rng, small, v % small.graph.n)
                if column.names_vertices
                else _other_number(rng, column, values, v)
            )
            arrays[name] = _changed(values, v, changed)
            how = f"vertex {v}: {values[v]!r} to {changed!r}"
        if not _same(arrays, right):
            yield f"{name}: {how}", arrays


def _changed(values, v, value):
    copy = values.copy()
    with np.errstate(all="ignore"):
        copy[v] = value
    return copy


def _same(one, other):
    return all(
        one[name].dtype == other[name].dtype
        and one[name].shape == other[name].shape
        and all(a == b for a, b in zip(one[name].tolist(), other[name].tolist(), strict=True))
        for name in other
    )


def _other_form(rng, values):
    """Return the array with another length, order or type."""
    forms = {
        "one value fewer": lambda: values[:-1],
        "one value more": lambda: np.append(values, values[:1]),
        "shifted by one": lambda: np.roll(values, 1),
        "as text": lambda: np.array([f"x{one}" for one in values.tolist()]),
        "as complex numbers": lambda: np.ones(len(values), complex),
        "a matrix": lambda: np.stack([values, values]),
        "None instead of numbers": lambda: np.full(len(values), None),
    }
    how = list(forms)[rng.integers(len(forms))]
    return how, forms[how]()


def _other_vertex(rng, small, v):
    """Return another vertex: a neighbour, any vertex, the vertex itself, an unknown vertex, or none."""
    row = slice(int(small.graph.offsets[v]), int(small.graph.offsets[v + 1]))
    near = small.graph.targets[row].tolist()
    choice = rng.integers(6)
    if choice < 2 and near:
        return small.ids[near[rng.integers(len(near))]]
    if choice == 3:
        return small.ids[v]
    if choice == 4:
        return _UNKNOWN_NAME if small.graph.has_string_ids else _UNKNOWN_NUMBER
    if choice == 5:
        return small.absent
    return small.ids[rng.integers(len(small.ids))]


def _other_number(rng, column, values, v):
    """Return another number: a little more or less, unreached, negative, or infinite."""
    value, whole = values[v].item(), values.dtype.kind in "iu"
    if column.kind == "distance":
        found = [value + 1, value - 1, -1, -2, 0, values.max().item() + 1]
        return (found if whole else [*found, np.inf, np.nan, -np.inf, value * 1.001])[
            rng.integers(6 if whole else 10)
        ]
    if whole:
        return [1 - value, value + 1, value - 1, -1, 2, 1 << 30][rng.integers(6)]
    # Values of 0 and values much smaller than the largest are changed by a share of the largest.
    more = 1e-3 * max(abs(value), 1e-1 * np.abs(values).max(), 1e-9)
    return [value + more, value - more, -value - more, np.nan, np.inf, -np.inf, 0.0, 1.0][rng.integers(8)]


def judged(spec, small, result, right, arrays):
    """Return what the oracle says about a change of a right answer: None if it is right too."""
    if any(arrays[name].dtype.kind != right[name].dtype.kind for name in arrays):
        return "another type"
    try:
        numbered = small.numbered(spec, arrays)
    except (TypeError, ValueError):
        return "not vertices"
    parameters = small.numbered_parameters(result.parameters)
    with np.errstate(all="ignore"):
        return judge(spec.name, small.edges, parameters, numbered, result.outcome)


def refusal(verify):
    """Return the name of the error that a verification raises, or None."""
    try:
        verify()
    except ev.EvenerError as error:
        return type(error).__name__
    return None


def _answer(spec, small, arguments):
    """Return the result of an algorithm, or None if it refuses the arguments or no oracle can judge it."""
    try:
        result = spec.function()(small.graph, on="cpu:1", **arguments)
    except ev.ArgumentError:
        return None
    has_rows = len(result[next(iter(result))]) > 0
    return result if has_rows and judgeable(spec, result) else None


def count(rng, spec, wanted, *, weights=(None, "float64", "float32", "int32")):
    """Count the noticed changes of random answers of one algorithm."""
    found = Count()
    while found.changed < wanted:
        small = draw(rng, largest=30, weights=weights)
        if not supported(spec.name, small):
            continue
        arguments = with_weights_option(rng, spec.function(), draw_arguments(rng, spec.name, small))
        result = _answer(spec, small, arguments)
        if result is None:
            continue
        right = {name: np.asarray(result[name]) for name in result}
        changes = mutations(rng, small, spec, right)
        for _ in range(min(_EACH, wanted - found.changed)):
            how, arrays = next(changes)
            wrong = judged(spec, small, result, right, arrays)
            claim = ev.Claim(spec.name, small.graph, arrays, result.parameters, result.outcome)
            error = refusal(lambda claim=claim: ev.verify(claim))
            found.changed += 1
            found.other_right += wrong is None
            found.noticed += wrong is not None and error == "VerificationError"
            if (error is None) != (wrong is None) or (error and error != "VerificationError"):
                found.missed.append(
                    {"change": how, "oracle": wrong, "verifier": error, **_case(small, result)}
                )
    return found


def _case(small, result):
    """Return what repeats an answer, for a record."""
    edges = small.edges
    weights = None if edges.weights is None else [str(one) for one in edges.weights]
    return {
        "ids": small.ids,
        "edges": [edges.tails, edges.heads, weights],
        "directed": edges.directed,
        "parameters": str(result.parameters),
    }


def count_by_command(rng, spec, wanted, found):
    """Count changes that ``evener verify`` notices in tables of answers."""
    with tempfile.TemporaryDirectory() as folder:
        while found.by_command < wanted:
            small = draw(rng, largest=20, weights=(None, "float64"))
            if not supported(spec.name, small) or not small.edges.tails:
                continue
            graph_file, table = Path(folder, "g.evg"), Path(folder, "a.parquet")
            ev.write(small.graph, graph_file)
            result = _answer(spec, small, draw_arguments(rng, spec.name, small))
            if result is None:
                continue
            right = {name: np.asarray(result[name]) for name in result}
            for how, arrays in _first(mutations(rng, small, spec, right), 3):
                wrong = judged(spec, small, result, right, arrays)
                if any(values.shape != right[name].shape for name, values in arrays.items()):
                    continue
                for name, values in arrays.items():
                    result[name]  # gathered first
                    (result._named if spec.column(name).names_vertices else result._gathered)[name] = values  # noqa: SLF001
                try:
                    result.write(table)
                except Exception:  # noqa: BLE001 - the change has no table
                    continue
                with (
                    contextlib.redirect_stdout(io.StringIO()),
                    contextlib.redirect_stderr(io.StringIO()) as said,
                ):
                    status = command(["verify", spec.name, str(graph_file), str(table)])
                found.by_command += 1
                if status not in ((0,) if wrong is None else (2, 3)):
                    found.missed.append(
                        {
                            "change": how,
                            "oracle": wrong,
                            "command": status,
                            "said": said.getvalue(),
                            **_case(small, result),
                        }
                    )


def _first(changes, count):
    for _ in range(count):
        yield next(changes)


def count_on_ranks(rng, spec, wanted, found):
    """Count changes that a verification on three ranks notices, each of which has a part of the graph."""
    with tempfile.TemporaryDirectory() as folder:
        while found.on_ranks < wanted:
            small = draw(rng, largest=20, weights=(None, "float64"))
            if not small.edges.tails:
                continue
            ev.write(small.graph, file := Path(folder, "g.evg"))
            arguments = draw_arguments(rng, spec.name, small)
            seed = int(rng.integers(1 << 30))
            try:
                pairs = run_ranks(3, lambda world: _on_a_rank(world, spec, small, file, arguments, seed))  # noqa: B023
            except ev.ArgumentError:
                continue
            for changes in zip(*pairs, strict=True):
                how, wrong, _ = changes[0]
                if how is None:
                    continue
                found.on_ranks += 1
                errors = {one[2] for one in changes}
                if errors != {None if wrong is None else "VerificationError"}:
                    found.missed.append(
                        {
                            "change": how,
                            "oracle": wrong,
                            "ranks": sorted(map(str, errors)),
                            "arguments": str(arguments),
                            "edges": [small.edges.tails, small.edges.heads],
                            "directed": small.edges.directed,
                        }
                    )


def _on_a_rank(world, spec, small, file, arguments, seed):
    """Verify changed answers on one rank. Return each change, the oracle's judgement, and the error."""
    placed = ev.partition(file, "cpu:1")
    result = spec.function()(placed, **arguments)
    rng = np.random.default_rng(seed)
    blocks = {name: np.asarray(result[name]) for name in result}
    part = slice(None) if spec.row == "graph" else slice(result.block.start, result.block.stop)
    if spec.row == "edge":
        ends = np.cumsum(world.allgather(len(next(iter(blocks.values())))))
        part = slice(ends[world.rank] - len(next(iter(blocks.values()))), ends[world.rank])
    right = {
        name: own.copy() if spec.row == "graph" else np.concatenate(world.allgather(own.copy()))
        for name, own in blocks.items()
    }
    found = []
    if not all(map(len, right.values())):
        return found  # nothing to change
    for how, arrays in _first(mutations(rng, small, spec, right), 6):
        if any(
            one.shape != right[name].shape or one.dtype != right[name].dtype for name, one in arrays.items()
        ):
            found.append((None, None, None))
            continue
        for name, own in blocks.items():
            own[:] = arrays[name][part]
        wrong = judged(spec, small, result, right, arrays)
        found.append((how, wrong, refusal(lambda: ev.verify(result))))
    return found


def main():
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--mutations", type=int, default=1000, help="changes for each algorithm")
    options.add_argument("--by-command", type=int, default=60, help="changes in tables, for each algorithm")
    options.add_argument("--on-ranks", type=int, default=60, help="changes on ranks, for each algorithm")
    options.add_argument("--only", nargs="*", help="names of algorithms (default: all)")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument(
        "--no-record", action="store_true", help="do not write results/verification_mutations.json"
    )
    options.add_argument("--processes", type=int, default=1, help="processes, each for one algorithm")
    given = options.parse_args()
    _prepare()
    heads = ("changed", "noticed", "other right", "command", "ranks", "missed")
    print(f"{'algorithm':24}", *(f"{head:>12}" for head in heads))
    names, rows = given.only or registry.names(), []
    with get_context("spawn").Pool(given.processes, _prepare) as processes:
        for name, found in zip(names, processes.imap(partial(_count, given=given), names), strict=True):
            rows.append({"algorithm": name, **vars(found), "missed": len(found.missed)})
            print(f"{name:24}", *(f"{one:12}" for one in list(rows[-1].values())[1:]), flush=True)
            for one in found.missed[:3]:
                print("   ", {k: v for k, v in one.items() if k not in ("ids", "edges")}, flush=True)
    if not given.no_record:
        question = "Do verifiers notice each changed value that is wrong?"
        record("verification_mutations", question=question, rows=rows, seed=given.seed)
    sys.exit(any(row["missed"] for row in rows))


def _prepare():
    warnings.simplefilter("ignore", ev.ConvergenceWarning)
    register_kcore()


def _count(name, given):
    spec, rng = registry.find(name), np.random.default_rng([given.seed, *name.encode()])
    found = count(rng, spec, given.mutations)
    count_by_command(rng, spec, given.by_command, found)
    if spec.verifies_parts:
        count_on_ranks(rng, spec, given.on_ranks, found)
    return found


if __name__ == "__main__":
    main()
