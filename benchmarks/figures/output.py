"""From measured rows to a figure: its table, record, plot, and section of docs/figures.md.

A figure is a module with

    TITLE, PAPER            the content of the figure, and the finding of the paper
    NEEDS                   elements in addition to a CPU: "", "two elements", "three elements" or "a GPU"
    cases(options)          the cases to run
    rows(runs, options)     the rows to record, from the rows of all runs
    SHOWN                   the columns to print
    here(rows)              the finding here, as a clause
    KIND, panels(rows)      "lines" or "bars", and the panels to draw
"""

from __future__ import annotations

import argparse
import json
import sys
from importlib import import_module
from pathlib import Path

import page
import search_path  # noqa: F401 - first: it makes the folder above importable
import sweep
from bench import Bench

import harness
from evener.elements import parse_elements, usable_cores
from evener.elements.cuda.discovery import gpus, missing

FOLDER = "figures"
RUNS = "runs"
_MODULES = sorted(Path(__file__).parent.glob("t1[23]_fig*.py"))
# In the order of the papers.
NAMES = sorted((path.stem for path in _MODULES), key=lambda name: (name[:3], int(name.partition("fig")[2])))
# Figures on ranks, by simulation, and compared with other systems. `all.py` does not make these figures.
ON_RANKS = ("g16_fig3", "g16_fig4", "g16_fig5", "g16_fig6", "g16_fig7", "g16_fig9", "s13_fig7", "s13_fig11")
PAGE = (*NAMES, *ON_RANKS)


def main(name):
    """Run one figure's script."""
    parser = _parser(import_module(name).__doc__.splitlines()[0])
    produce([name], harness.recording(parser))


def options_of_all():
    """Return the options of the script that runs all figures."""
    parser = _parser("Run all figures of T12 and T13, each placement and each run once.")
    parser.add_argument("--only", nargs="+", choices=NAMES, metavar="FIGURE", help="t12_fig7 t13_fig9 ...")
    parser.add_argument(
        "--skip", nargs="+", default=[], choices=NAMES, metavar="FIGURE", help="all but these"
    )
    parser.add_argument(
        "--again", action="store_true", help="run nothing: make all figures from the runs recorded last"
    )
    return harness.recording(parser)


def names_of(options):
    """Return the figures that the script makes."""
    return [name for name in options.only or NAMES if name not in options.skip]


def _parser(description):
    parser = argparse.ArgumentParser(description=description)
    add = parser.add_argument
    add("--scale", type=int, default=24, help="of the R-MAT graphs")
    add("--graph", help="a file or spec in place of the main graph")
    add("--on", default=_elements(), help="the CPU first: cpu,cuda:0 or cpu,cuda:0,cuda:1 or cpu:1,cpu:1")
    add("--alphas", type=float, nargs="+", default=[0.1, 0.3, 0.5, 0.8], help="shares of the CPU")
    add("--policies", nargs="+", default=["high", "random", "low"])
    add("--fits", type=float, default=0.5, help="share of the edges for which each GPU has room")
    add("--tasks", nargs="+", choices=sweep.TASKS, default=list(sweep.TASKS), help="those that are run")
    add("--sources", type=int, default=4, help="of searches and of betweenness")
    add("--iterations", type=int, default=8, help="of PageRank")
    add("--rounds", type=int, default=3, help="of PageRank's iterations")
    add("--real", nargs="*", default=[], metavar="FILE", help="graphs to count crossing edges of")
    add("--budget", type=float, metavar="SECONDS", help="after which no other placement is begun")
    return parser


def _elements():
    if gpus():
        return "cpu,cuda:0"
    half = max(1, usable_cores() // 2)
    return f"cpu:{half},cpu:{half}"


# ---- running ----------------------------------------------------------------------------------------


def produce(names, options, *, keep_runs=False):
    """Run the cases that the figures need, each once; make the figures and end the process.

    The exit status is 2 if these elements can show none of the figures, and 1 if a run failed.
    """
    if sweep.has_gpu(options.on) and missing() is not None:
        print(f"--on {options.on} names a GPU, but no GPU can be used: {missing()}.", file=sys.stderr)
        sys.exit(2)
    figures = _possible(names, options)
    options.half = _half_of_cpu(options)
    bench, gpu = Bench(options), gpu_name(options.on)
    cases = {name: sweep.only(figure.cases(options), options.tasks) for name, figure in figures.items()}
    published = set()

    def publish_the_finished(done):
        finished = [name for name in figures if name not in published and set(cases[name]) <= set(done)]
        published.update(finished)
        for name in finished:
            left_out = _left_out(cases[name], bench.left_out)
            publish(name, figures[name], bench.rows, options, left_out, gpu=gpu)

    publish_the_finished([])  # figures that need no run
    try:
        bench.run([case for own in cases.values() for case in own], publish_the_finished)
    finally:  # also after an error, because runs are long
        if keep_runs and not options.no_record:
            _keep(bench, options, gpu)
    if not options.no_record:
        draw(names)
        page.write(PAGE)
    sys.exit(1 if bench.failed else 0)


def again(options):
    """Make every figure from the recorded runs. The figures keep the machine and the date of the runs."""
    place = harness.RESULTS / FOLDER / f"{RUNS}.json"
    if not place.exists():
        sys.exit(
            f"no runs are recorded in results/{FOLDER}/{RUNS}.json; run all figures first, without --only"
        )
    document = json.loads(place.read_text(encoding="utf-8"))
    was = argparse.Namespace(**{**vars(options), **document["options"], "no_record": options.no_record})
    for name, figure in _possible(names_of(was), was).items():
        left_out = _left_out(sweep.only(figure.cases(was), was.tasks), document["left out"])
        publish(
            name, figure, document["rows"], was, left_out, gpu=document["gpu"], head=harness.head_of(document)
        )
    if not options.no_record:
        draw(PAGE)
        page.write(PAGE)


def lacking(figure, on):
    """Return why elements of these names cannot show a figure, as a clause; None if they can."""
    title, count = figure.TITLE, len(on.split(","))
    if figure.NEEDS == "a GPU" and not sweep.has_gpu(on):
        return f'"{title}" needs a GPU, because it compares two kinds of processors; give --on cpu,cuda:0'
    if figure.NEEDS == "two elements" and count < 2:
        return f'"{title}" needs a second element; give --on cpu,cuda:0, or cpu:1,cpu:1'
    if figure.NEEDS == "three elements" and count < 3:
        return f'"{title}" needs two accelerators; give --on cpu,cuda:0,cuda:1, or cpu:1,cpu:1,cpu:1'
    return None


def _possible(names, options):
    figures, reasons = {}, []
    for name in names:
        figure = import_module(name)
        reason = lacking(figure, options.on)
        if reason is None:
            figures[name] = figure
        else:
            reasons.append(f"{name}: {reason}.")
    for reason in reasons:
        print(reason, file=sys.stderr)
    if not figures or (reasons and getattr(options, "only", None)):
        sys.exit(2)
    return figures


def _half_of_cpu(options):
    threads = parse_elements(sweep.cpu_of(options))[0].threads
    return f"cpu:{threads // 2}" if threads > 1 else None


def _keep(bench, options, gpu):
    """Record all runs, from which every figure can be made again."""
    kept = {"options": _without_folders(options), "gpu": gpu, "left out": bench.left_out}
    question = "Question: what was run for the figures."
    harness.record(RUNS, question=question, rows=bench.rows, folder=FOLDER, **kept)


def _without_folders(options):
    """Return the options with file names instead of paths of this machine."""
    graph = options.graph and sweep.name_of(options.graph)
    return {**vars(options), "graph": graph, "real": [sweep.name_of(file) for file in options.real]}


def _left_out(cases, reasons):
    own = {str(case) for case in cases}
    return {case: reason for case, reason in reasons.items() if case in own}


# ---- publishing -------------------------------------------------------------------------------------


def publish(name, figure, runs, options, left_out, *, gpu, head=None):
    """Print and record one figure, if any of its runs took place."""
    rows = figure.rows(runs, options)
    if not rows:
        print(f"{name}: no run")
        return
    here = figure.here(rows)
    cells = [[_cell(row.get(column)) for column in figure.SHOWN] for row in rows]
    harness.show(f"{name}: {figure.TITLE}", [column.replace("_", " ") for column in figure.SHOWN], cells)
    print(f"The paper: {figure.PAPER}.\nHere: {here}.")
    for case, reason in left_out.items():
        print(f"Left out: {case}: {reason}")
    if options.no_record:
        return
    more = {
        "title": figure.TITLE,
        "paper": figure.PAPER,
        "here": here,
        "options": _without_folders(options),
        "gpu": gpu,
        "left out": left_out,
    }
    question = figure.__doc__.splitlines()[0]
    harness.record(name, question=question, rows=rows, folder=FOLDER, head=head, **more)


def gpu_name(on):
    if not sweep.has_gpu(on):
        return None
    from evener.elements.hardware import machine_facts

    return machine_facts()["gpus"][0]


def _cell(value):
    if isinstance(value, float):
        return f"{value:.3g}"
    return "" if value is None else str(value)


def draw(names):
    """Draw the recorded figures."""
    try:
        import charts
    except ModuleNotFoundError as error:
        print(f"no plot is drawn: {error.name} is not installed; later: benchmarks/figures/all.py --again")
        return
    for name in names:
        place = harness.RESULTS / FOLDER / f"{name}.json"
        if place.exists():
            figure, document = import_module(name), json.loads(place.read_text(encoding="utf-8"))
            title = f"{page.numbered(name)}: {figure.TITLE}"
            getattr(charts, figure.KIND)(name, title, figure.panels(document["rows"]))
