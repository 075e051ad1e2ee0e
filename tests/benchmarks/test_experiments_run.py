"""An experiment after Kim & Jung runs to its end, and leaves the published files alone."""

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_an_experiment_is_summed_up_and_drawn(tmp_path):
    published = ROOT / "doc" / "experiments" / "gdppca_figure_1_summary.csv"
    before = published.read_bytes()
    run = [sys.executable, "benchmarks/experiments_gdppca/pairs.py", "--repeats", "1"]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    subprocess.run([*run, "--folder", tmp_path], cwd=ROOT, env=environment, timeout=300, check=True)
    assert list(pd.read_csv(tmp_path / published.name)) == list(pd.read_csv(published))
    assert (tmp_path / "gdppca_figure_1.png").exists()
    assert published.read_bytes() == before
