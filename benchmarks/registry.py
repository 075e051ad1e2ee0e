"""All benchmarks: the command of each, its tables, and what it needs.

``make measure`` and the canaries follow from `PARTS`. A part is one command. Long ones keep what
they have measured, and go on there when run again. What each takes is in
``results/minutes.csv``, which ``measure.py`` writes.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path

import _common

PEOPLES_DATA = "the matrices of Nicolas et al. in `SKDPPCA_DATA`"
PACKAGE_OF_R = "R with its package dppca"


@dataclass(frozen=True)
class Part:
    """A command that measures tables.

    Parameters
    ----------
    script : str
        In benchmarks/, with options; ``--save`` is added for those of benchmarks/results.
    measures : str
        The names of its tables, of benchmarks/results or of doc/experiments.
    times : bool
        Whether the tables hold times or memory: these are not stored from a busy machine.
    needs : str
        Beside the extra ``benchmark``.
    unguarded : str
        Why no canary guards the tables, or those that hold no accuracy.
    """

    script: str
    measures: str
    times: bool = False
    needs: str = ""
    unguarded: str = ""

    @property
    def tables(self) -> tuple[str, ...]:
        return tuple(self.measures.split())

    @property
    def answers(self) -> str:
        """The first line of the script."""
        text = ast.get_docstring(ast.parse(self.path.read_bytes())) or ""
        return text.partition("\n")[0]

    @property
    def minutes(self) -> int | None:
        """Of its last whole run; None as long as nobody has timed it."""
        row = _common.noted("minutes").get(self.script)
        return int(row["minutes"]) if row else None

    @property
    def path(self) -> Path:
        return Path(__file__).parent / self.script.split()[0]

    @property
    def command(self) -> list[str]:
        """Without the interpreter."""
        _, *options = self.script.split()
        stores = re.search(r"\bmeasure\(\s*__doc__", self.path.read_text())
        return [str(self.path), *options, *["--save"] * bool(stores)]


PARTS = (
    Part("bench_speed.py --only speed", "speed", times=True),
    Part("bench_speed.py --only speed_peers", "speed_peers", times=True, needs="network, for pip"),
    Part("bench_methods.py --only methods_speed", "methods_speed", times=True),
    Part("bench_files.py", "files", times=True, needs="12 GB of disk"),
    Part("bench_cluster.py", "cluster", times=True, needs="extra `dask`, 6 GB of disk"),
    Part("bench_sites.py --only sites_speed", "sites_speed", times=True, needs="extra `federated`"),
    Part("bench_accuracy.py --only accuracy", "accuracy"),
    Part(
        "bench_accuracy.py --only accuracy_peers",
        "accuracy_peers",
        needs="network, for pip",
        unguarded="other packages",
    ),
    Part("bench_untuned.py", "untuned untuned_tails"),
    Part("bench_covariances.py", "covariances"),
    Part("bench_dppca_package.py", "dppca_package", times=True, needs=PACKAGE_OF_R),
    Part("bench_methods.py --only methods_accuracy", "methods_accuracy"),
    Part("bench_explained.py", "explained"),
    Part("bench_tails.py", "tails"),
    Part("bench_adaptive.py --only adaptive_accuracy", "adaptive_accuracy"),
    Part("bench_adaptive.py --only adaptive_deflation", "adaptive_deflation"),
    Part("bench_gdppca.py", "gdppca_accuracy"),
    Part("bench_outliers.py", "outliers"),
    Part("bench_missing.py", "missing_digits missing_mixed"),
    Part("bench_scale.py", "scale"),
    Part("bench_cohorts.py", "cohorts cohorts_drift"),
    Part("bench_planner.py", "planner planner_skewed"),
    Part(
        "plans_for_pages.py", "plans", unguarded="predictions, which the test of that page compares"
    ),
    Part(
        "bench_sites.py --only sites sites_local sites_fits",
        "sites sites_local sites_fits",
        needs=f"extra `federated`, {PEOPLES_DATA}",
        unguarded="bytes",
    ),
    *(
        Part(f"experiments/figures.py {name}", f"figure_{name}_summary")
        for name in ("1a", "1b", "1c", "2a", "2b", "2c", "3", "4")
    ),
    Part("experiments/gradients.py", "liu_figure_1", unguarded="data alone, no method"),
    Part(
        "experiments_gdppca/figures.py --nsggd 20",
        " ".join(f"gdppca_figure_{number}_summary" for number in (2, 3, 4, 5)),
    ),
    Part(
        "experiments_gdppca/pairs.py",
        "gdppca_figure_1_summary",
        unguarded="nothing in it is private",
    ),
    Part(
        "experiments_power/coherence.py",
        "power_coherence power_bounds_ratio_summary",
        needs=PEOPLES_DATA,
        unguarded="bounds alone, no method",
    ),
    Part("experiments_power/relative_error.py", "power_relative_error_summary", needs=PEOPLES_DATA),
    Part(
        "experiments_power/recommender.py",
        "power_recommender",
        needs=PEOPLES_DATA,
        unguarded="follows from power_relative_error_summary",
    ),
    Part("experiments_power/dense_rows.py", "power_dense_rows_summary"),
    Part("experiments_power/sparse_rows.py", "power_sparse_rows", times=True),
    Part(
        "bench_gap.py",
        "gap gap_crossing gap_slopes",
        unguarded="ratios of what gap holds",
    ),
    Part("bench_rates.py", "rates"),
    Part(
        "bench_theory.py",
        "theory_centre theory_variances theory_outliers theory_quantiles",
        unguarded="quantiles of ndtri, and outliers that are a failure which is shown",
    ),
    Part(
        "bench_guide.py",
        "guide_search guide_passes guide_alignments guide_ojas guide_loadings",
        needs="extras `files,dask,selection`",
        unguarded="counts of passes; and alignments of KDPOjas, which other tables guard",
    ),
    Part(
        "headlines.py",
        " ".join(
            f"headlines_{name}"
            for name in "d n sigma gap_release power kendall ratio epsilon".split()
        ),
        needs="the tables of the figures",
        unguarded="computed from guarded tables",
    ),
)


def part_of(table: str) -> Part | None:
    """Which part measures a table."""
    return next((part for part in PARTS if table in part.tables), None)


def unguarded() -> dict[str, str]:
    """Tables that may be without a canary, and why."""
    why = {part: "time or memory" if part.times else part.unguarded for part in PARTS}
    return {table: why[part] for part in PARTS for table in part.tables if why[part]}
