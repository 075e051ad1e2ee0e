"""All benchmarks: what each answers, its command, its tables, and what it needs.

``make measure`` and the canaries follow from `PARTS`. A part is one command. Those that take longer
than an hour keep what they have measured, and go on there when run again. What each takes is in
``results/minutes.csv``, which ``measure.py`` writes.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import _common
import keys

PEOPLES_DATA = "the matrices of Nicolas et al. in `SKDPPCA_DATA`"
PACKAGE_OF_R = "R with its package dppca"


@dataclass(frozen=True)
class Part:
    """A command that measures tables.

    Parameters
    ----------
    script : str
        In benchmarks/, with options; ``--save`` is added for those of benchmarks/results.
    answers : str
    tables : tuple of str
        Of benchmarks/results, or of doc/experiments.
    times : bool
        Whether the tables hold times or memory: these are not stored from a busy machine.
    needs : str
        Beside the extra ``benchmark``.
    unguarded : str
        Why no canary guards the tables, or those that hold no accuracy.
    """

    script: str
    answers: str
    tables: tuple[str, ...]
    times: bool = False
    needs: str = ""
    unguarded: str = ""

    @property
    def minutes(self) -> int | None:
        """Of its last whole run; None as long as nobody has timed it."""
        row = timed().get(self.script)
        return int(row["minutes"]) if row else None

    @property
    def path(self) -> Path:
        return Path(__file__).parent / self.script.split()[0]

    @property
    def command(self) -> list[str]:
        """Without the interpreter."""
        _, *options = self.script.split()
        experiment = "experiments" in self.script or self.path.stem in ("bench_gap", "headlines")
        return [str(self.path), *options, *([] if experiment else ["--save"])]


TIME, MEMORY = "time", "memory"
PARTS = (
    Part(
        "bench_speed.py --only speed",
        "How long a whole fit of each method takes, told nothing, beside scikit-learn's solvers",
        ("speed",),
        times=True,
    ),
    Part(
        "bench_speed.py --only speed_peers",
        "How long fits of diffprivlib and opendp take",
        ("speed_peers",),
        times=True,
        needs="network, for pip",
    ),
    Part(
        "bench_methods.py --only methods_speed",
        "Time and memory of one fit of each method",
        ("methods_speed",),
        times=True,
    ),
    Part("bench_noise.py", "How long exact noise takes beside numpy's", ("noise",), times=True),
    Part(
        "bench_memory.py",
        "Peak memory of a fit to a mapped file of 800 MB",
        ("memory",),
        times=True,
        needs="2 GB of disk",
    ),
    Part(
        "bench_files.py",
        "Passes, time and memory of fits to a Parquet file of 11 GB, beside a bare scan",
        ("files",),
        times=True,
        needs="12 GB of disk",
    ),
    Part(
        "bench_cluster.py",
        "Time and memory of fits on a dask cluster",
        ("cluster",),
        times=True,
        needs="extra `dask`, 6 GB of disk",
    ),
    Part(
        "bench_sites_speed.py",
        "How long fits over sites take beside one place, with all sites in one process",
        ("sites_speed",),
        times=True,
        needs="extra `federated`",
    ),
    Part(
        "bench_accuracy.py --only accuracy",
        "Captured variance on public data, with and without help",
        ("accuracy",),
    ),
    Part(
        "bench_accuracy.py --only accuracy_peers",
        "Captured variance of diffprivlib and opendp",
        ("accuracy_peers",),
        needs="network, for pip",
        unguarded="other packages",
    ),
    Part(
        "bench_untuned.py",
        "Loss and regret of all methods on 28 tables that no constant was tuned on",
        ("untuned",),
    ),
    Part(
        "bench_untuned.py --tails",
        "The worst of 2000 fits of ten small tables of these",
        ("untuned_tails",),
    ),
    Part(
        "bench_covariances.py",
        "Loss beside SeparateCov, AdaptiveCov and CoinPress, which are told mean and radius",
        ("covariances",),
    ),
    Part(
        "bench_dppca_package.py",
        "Directions, variances and score histograms beside the R package dppca itself",
        ("dppca_package",),
        times=True,
        needs=PACKAGE_OF_R,
    ),
    Part(
        "bench_methods.py --only methods_accuracy", "Accuracy of all methods", ("methods_accuracy",)
    ),
    Part(
        "bench_explained.py",
        "Loss of four methods by the share of the variance that the components explain",
        ("explained",),
    ),
    Part("bench_tails.py", "The worst of 2000 fits of each method", ("tails",)),
    Part(
        "bench_adaptive.py --only adaptive_accuracy",
        "Loss of the methods with adaptive noise on the models of Düngler & Sanyal",
        ("adaptive_accuracy",),
    ),
    Part(
        "bench_adaptive.py --only adaptive_deflation",
        "What reusing all records costs or gains in deflation",
        ("adaptive_deflation",),
    ),
    Part(
        "bench_gdppca.py",
        "Error of GDPPCA on the model of Kim & Jung",
        ("gdppca_accuracy",),
    ),
    Part(
        "bench_outliers.py",
        "Captured variance on heavy tails, outliers and long rows, by every way to bound records",
        ("outliers",),
    ),
    Part(
        "bench_missing.py",
        "Captured variance, mean and variances with 10 and 30 % of the entries missing",
        ("missing_digits", "missing_mixed"),
    ),
    Part(
        "bench_scale.py",
        "Captured variance of standardised features, with private and public scales",
        ("scale",),
    ),
    Part(
        "bench_cohorts.py",
        "Captured variance of releases that grow by cohorts, also where the population turns",
        ("cohorts", "cohorts_drift"),
    ),
    Part(
        "bench_planner.py",
        "How far the planner's predictions are from fits at full size",
        ("planner",),
    ),
    Part(
        "bench_planner.py --skewed",
        "How far fits to skewed rows fall from what is planned",
        ("planner_skewed",),
    ),
    Part(
        "plans_for_pages.py",
        "The plans at which the sliders of *Try a plan* stop",
        ("plans",),
        unguarded="predictions, which the test of that page compares",
    ),
    Part(
        "bench_sites.py",
        "Loss over sites beside one place, bytes of every question, and noise without masks",
        ("sites", "sites_local", "sites_fits", "sites_questions", "sites_iteration"),
        needs=f"extra `federated`, {PEOPLES_DATA}",
        unguarded="bytes",
    ),
    *(
        Part(
            f"experiments/figure_{name}.py",
            f"Figure {name} of Düngler & Sanyal",
            (f"figure_{name}_summary",),
        )
        for name in ("1a", "1b", "1c", "2a", "2b", "2c", "3", "4")
    ),
    Part(
        "experiments/gradients.py",
        "Figure 1 of Liu et al.: the range of a batch's gradients, and their mean",
        ("liu_figure_1",),
        unguarded="data alone, no method",
    ),
    Part(
        "experiments_gdppca/figures.py --nsggd 20",
        "Figures 2 to 5 of Kim & Jung",
        tuple(f"gdppca_figure_{i}_summary" for i in (2, 3, 4, 5)),
    ),
    Part(
        "experiments_gdppca/nsggd.py",
        "NSGGD with more rows than Figures 2 to 4 of Kim & Jung have it for",
        ("gdppca_nsggd_summary",),
        unguarded="not of the package",
    ),
    Part(
        "experiments_gdppca/pairs.py",
        "Figure 1 of Kim & Jung: all pairs beside disjoint ones",
        ("gdppca_figure_1_summary",),
        unguarded="nothing in it is private",
    ),
    Part(
        "experiments_gdppca/contamination.py",
        "Error against the share of outliers, and the breakdown points of two theorems",
        ("gdppca_contamination_summary", "gdppca_contamination_points"),
        unguarded="the points are those of theorems",
    ),
    Part(
        "experiments_power/coherence.py",
        "Table 2 and Figure 3 of Nicolas et al.: coherence, and the ratio of the bounds",
        ("power_coherence", "power_bounds_ratio_summary"),
        needs=PEOPLES_DATA,
        unguarded="bounds alone, no method",
    ),
    Part(
        "experiments_power/relative_error.py",
        "Figures 1 and 2 of Nicolas et al.: error of filtered interactions against epsilon",
        ("power_relative_error_summary",),
        needs=PEOPLES_DATA,
    ),
    Part(
        "experiments_power/symmetric_matrix.py",
        "A symmetric matrix itself as input (their equation 7)",
        ("power_symmetric_matrix",),
        needs=PEOPLES_DATA,
        unguarded="not of the package: it has no such input",
    ),
    Part(
        "experiments_power/recommender.py",
        "How many visits a recommender from private eigenvectors predicts",
        ("power_recommender",),
        needs=PEOPLES_DATA,
        unguarded="follows from power_relative_error_summary",
    ),
    Part(
        "experiments_power/dense_rows.py",
        "Accuracy of DPPowerMethod on dense rows, beside DPGauss",
        ("power_dense_rows_summary",),
    ),
    Part(
        "experiments_power/sparse_rows.py",
        "Accuracy, time and memory of DPPowerMethod on sparse rows, beside DPGauss",
        ("power_sparse_rows",),
        times=True,
    ),
    Part(
        "bench_gap.py",
        "Error of SmoothSensitivityPCA against n, beside DPGauss",
        ("gap",),
    ),
    Part(
        "bench_gap.py crossing",
        "From which gap on its noise is less than that of DPGauss",
        ("gap_crossing",),
        unguarded="ratios of what gap holds",
    ),
    Part(
        "bench_gap.py slopes",
        "Its error against n, d and the gap, beside the theorem",
        ("gap_slopes",),
    ),
    Part(
        "bench_rates.py",
        "How errors fall with what theorems name, where no figure shows it",
        ("rates",),
    ),
    Part(
        "bench_theory.py",
        "Rows far from the origin, error bars after clipping, outliers too few to be seen, ndtri",
        ("theory_centre", "theory_variances", "theory_outliers", "theory_quantiles"),
        unguarded="quantiles of ndtri, and outliers that are a failure which is shown",
    ),
    Part(
        "bench_guide.py",
        "Searches, passes, alignments and error bars that guides and method pages tell of",
        tuple(f"guide_{name}" for name in "search passes alignments ojas loadings".split()),
        needs="extras `files,dask,selection`",
        unguarded="counts of passes; and alignments of KDPOjas, which other tables guard",
    ),
    Part(
        "headlines.py",
        "Slopes and ratios of the figures above, beside the papers' headlines",
        tuple(
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


def stored(table: str) -> bool:
    try:
        return keys.table_path(table).exists()
    except keys.MissingFigure:
        return False


def timed() -> dict[str, dict[str, str]]:
    """Script -> row of minutes.csv; the date and the load are missing where nobody noted them."""
    path = _common.RESULTS / "minutes.csv"
    if not path.exists():
        return {}
    with path.open(newline="") as file:
        return {row["part"]: row for row in csv.DictReader(file)}


def note_minutes(part: Part, minutes: float, load: float) -> None:
    """Store what a part has taken, and the load before it."""
    told = (str(max(1, round(minutes))), _common.today(), f"{load:.1f}")
    found = dict(zip(("minutes", "date", "load"), told, strict=True))
    rows = timed() | {part.script: {"part": part.script, **found}}
    with (_common.RESULTS / "minutes.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ["part", *found], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows[script] for script in sorted(rows))


def unguarded() -> dict[str, str]:
    """Tables that may be without a canary, and why."""
    why = {part: "time or memory" if part.times else part.unguarded for part in PARTS}
    return {table: why[part] for part in PARTS for table in part.tables if why[part]}
