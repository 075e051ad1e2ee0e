"""The figures of the papers take an oracle of the user's, and leave the published files alone."""

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
MODULE = """
from skdppca.decomposition import OjasOracle

class Mine:
    def __call__(self, mean):
        return OjasOracle(n_iter=2)(mean)
"""


def figure(where, *options):
    """Run a figure from another folder."""
    command = [sys.executable, ROOT / "benchmarks/experiments/figures.py", "1a", *options]
    told = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        command, cwd=where, env=told, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.mark.slow
def test_an_oracle_is_drawn_beside_the_published_methods(tmp_path):
    (tmp_path / "my_module.py").write_text(MODULE)
    published = ROOT / "doc/experiments/figure_1a_summary.csv"
    before = published.read_bytes()
    options = ("--trials", "1", "--max-n", "1000", "--folder", tmp_path / "out")
    done = figure(tmp_path, "--with", "my_module:Mine", *options)
    assert done.returncode == 0, done.stderr
    methods = set(pd.read_csv(tmp_path / "out" / published.name)["method"])
    assert methods == {"my_module:Mine", *pd.read_csv(published)["method"]}
    assert (tmp_path / "out" / "figure_1a.png").exists()
    assert published.read_bytes() == before


def test_a_name_without_a_module_is_refused(tmp_path):
    done = figure(tmp_path, "--with", "Mine")
    assert done.returncode and "write it as my_module:MyOracle" in done.stderr
