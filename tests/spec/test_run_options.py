"""Every function that runs something has the options of every run, in its signature and its documentation."""

from __future__ import annotations

import inspect
import re

import pytest

import evener as ev
from evener.spec.registry import builtin_names, find
from evener.spec.run_options import DEFAULTS

FUNCTIONS = [*builtin_names(), "gimv", "mapreduce", "vertex_program"]
PLACED = ["on", "policy", "alpha", "gpu_memory", "progress"]


def sections(docstring):
    """Return the text of each section by its name."""
    _, *rest = re.split(r"^(\w+)\n-+\n", docstring, flags=re.MULTILINE)
    return dict(zip(rest[::2], rest[1::2], strict=True))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_signatures_list_the_options(name):
    parameters = inspect.signature(getattr(ev, name)).parameters
    with_checkpoints = find(name).checkpoints if name in builtin_names() else name != "mapreduce"
    options = [*PLACED, "checkpoint"] if with_checkpoints else PLACED
    assert list(parameters)[-len(options) :] == options
    for option in options:
        assert parameters[option].kind is inspect.Parameter.KEYWORD_ONLY
        assert parameters[option].default == DEFAULTS[option]
    assert parameters["alpha"].annotation == "float | Literal['auto'] | None"
    kind = "RunOptions" if with_checkpoints else "BasicOptions"
    assert inspect.unwrap(getattr(ev, name)).__annotations__["options"] == f"Unpack[{kind}]"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_docstrings_describe_the_options(name):
    function = getattr(ev, name)
    described = sections(function.__doc__)
    names = re.findall(r"^(\w[\w, ]*?) : ", described["Parameters"], re.MULTILINE)
    assert ", ".join(names).split(", ") == list(inspect.signature(function).parameters)
    errors = re.findall(r"^(\w+)$", described["Raises"], re.MULTILINE)
    assert {"ArgumentError", "DeviceError", "OutOfMemoryError"} <= set(errors)
    assert len(errors) == len(set(errors))
    order = ["Parameters", "Returns", "Warns", "Raises", "Notes", "Examples"]
    assert list(described) == [section for section in order if section in described]
    assert "\n\n\n" not in function.__doc__
    assert function.__doc__.count("each rank reads its own part") == 1


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_unknown_option_is_refused_first(name):
    required = {"gimv": [min, min, min, 0.0], "mapreduce": [min], "vertex_program": [None]}
    expected = rf"^{name}\(\) got an unexpected keyword argument 'depth'$"
    with pytest.raises(TypeError, match=expected):
        getattr(ev, name)("missing.txt", *required.get(name, []), depth=3)


def test_mapreduce_writes_no_checkpoints():
    with pytest.raises(TypeError, match=r"^mapreduce\(\) got an unexpected keyword argument 'checkpoint'$"):
        ev.mapreduce("missing.txt", min, checkpoint=None)
