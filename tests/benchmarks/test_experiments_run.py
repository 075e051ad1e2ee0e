"""The experiments after Kim & Jung run to their end, and leave the published files alone."""

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "name"),
    [
        ("pairs.py", "gdppca_figure_1"),
        pytest.param("contamination.py", "gdppca_contamination", marks=pytest.mark.slow),
    ],
)
def test_an_experiment_is_summed_up_and_drawn(script, name, tmp_path):
    published = ROOT / "doc" / "experiments" / f"{name}_summary.csv"
    before = published.read_bytes()
    run = [sys.executable, f"benchmarks/experiments_gdppca/{script}", "--repeats", "1"]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    subprocess.run([*run, "--folder", tmp_path], cwd=ROOT, env=environment, timeout=300, check=True)
    summary = pd.read_csv(tmp_path / f"{name}_summary.csv")
    assert list(summary) == list(pd.read_csv(published))
    assert (tmp_path / f"{name}.png").exists()
    assert published.read_bytes() == before
