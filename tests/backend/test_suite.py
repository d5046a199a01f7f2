"""NetworkX's own tests of the functions that the backend has pass on the backend, with fallback."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

MODULES = (
    *("components", "link_analysis", "shortest_paths"),
    *(
        f"centrality.tests.test_{name}_centrality"
        for name in ("betweenness", "closeness", "degree", "eigenvector", "harmonic", "katz")
    ),
    *(f"community.tests.test_{name}" for name in ("label_propagation", "leiden", "louvain", "quality")),
    *(
        f"tests.test_{name}"
        for name in (
            *("cluster", "core", "distance_measures", "efficiency", "isolate", "link_prediction", "mis"),
            *("reciprocity", "wiener"),
        )
    ),
    *(f"tree.tests.test_{name}" for name in ("mst", "recognition")),
)


@pytest.mark.slow
def test_the_tests_of_networkx(tmp_path):
    others = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment = others | {
        "NETWORKX_TEST_BACKEND": "evener",
        "NETWORKX_FALLBACK_TO_NX": "True",
        "NUMBA_NUM_THREADS": "1",
    }
    modules = [f"networkx.algorithms.{name}" for name in MODULES] + ["networkx.readwrite.tests.test_text"]
    command = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "-p", "no:cacheprovider", "-n0"]
    # This test has hundreds of parameters, which take minutes.
    command += ["-k", "not test_use_bounds_on_off_consistency", "--pyargs", *filter(find_spec, modules)]
    ran = subprocess.run(
        command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=900, check=False
    )
    assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-1000:]
    assert int(ran.stdout.splitlines()[-1].split(" passed")[0]) > 800
