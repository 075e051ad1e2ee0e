"""Run the benchmarks and write the tables of the documentation.

``python benchmarks/make_tables.py`` turns the committed ``benchmarks/results/*.csv`` into
``doc/benchmarks/*.rst``; with ``--run`` it measures first, on whatever machine it is on.
"""

from __future__ import annotations

import argparse
import csv
import io
import subprocess
import sys
from pathlib import Path

import _common
import bench_noise

TABLES = Path(__file__).parents[1] / "doc" / "benchmarks"

# Page -> csv files and titles of its tables.
PAGES = {
    "accuracy": {
        "accuracy": "Captured variance, delta = 1e-6, add-remove",
        "accuracy_peers": "Captured variance beside other packages, which are given the bounds",
        "covariances": "Loss beside published covariances, which are told mean and radius; k = 5",
    },
    "untuned": {
        "untuned": "Loss, 1 - captured variance, on tables that no constant was tuned on",
        "untuned_tails": "The rare fit of PrivatePCA on small tables",
    },
    "speed": {
        "speed": "Seconds of a whole fit, n_components = 5, told nothing",
        "speed_peers": "One fit of other packages, n_components = 2, epsilon = 1",
    },
    "adaptive": {
        "adaptive_accuracy": "Median zeta^2, d = 200, epsilon = 1, delta = 0.01",
        "adaptive_deflation": "Median zeta^2 of deflation, 4000 groups, d = 100, sigma = 0.5",
        "adaptive_speed": "Seconds of a whole fit, and times DPGauss",
    },
    "methods": {
        "methods_accuracy": "Captured share of the best possible variance",
        "methods_speed": "One fit, no public facts, n_components = 10",
    },
    "outliers": {"outliers": "Captured share of the best possible variance, 2000 x 50, k = 2"},
    "tails": {"tails": "The rare fit: captured share of the best possible variance"},
    "missing": {
        "missing_digits": "Digits, 1797 x 64, k = 5",
        "missing_mixed": "Mixed table, 4000 x 10, k = 3, scale='private'",
    },
    "scale": {"scale": "Captured variance of the standardised features, raw breast cancer, k = 2"},
    "gdppca": {
        "gdppca_accuracy": "Mean sin-theta (standard error), epsilon = 0.5, delta = 1e-5",
        "gdppca_speed": "Seconds of a whole fit on one thread",
    },
    "planner": {
        "planner": "Predicted and measured loss, 1 - captured variance: medians, delta = 1e-6",
        "planner_skewed": "How far fits fall on skewed tables: medians, and shares of fits",
        "planner_floors": "How much of the k-th direction's square is found at the noise floor",
    },
    "memory": {"memory": "Peak memory of a fit to a mapped file"},
    "files": {"files": "Time and peak memory of a fit to a Parquet file of 11 GB"},
    "cluster": {
        "cluster": "One fit, n_components = 10, and the memory of all its processes",
        "cluster_weak": "DPGauss on 100 partitions a worker: simulated from measured parts",
    },
    "sites": {
        "sites": "Median loss, 1 - captured variance, over sites and in one place at that noise",
        "sites_local": "Median loss at one epsilon; in brackets, the noise over that of one place",
    },
    "sites_messages": {
        "sites_fits": "What one site gets and sends in one fit",
        "sites_questions": "One fit, question by question: at each site, each time",
        "sites_iteration": "An iteration of the power method beside Table 1 of Nicolas et al.",
    },
    "noise": {"noise": "Seconds of the exact noise of a 1000 x 1000 symmetric matrix"},
}


def measure() -> None:
    """Run every benchmark; each saves its own csv."""
    names = "speed memory accuracy adaptive gdppca scale planner methods outliers missing tails"
    runs = [[name] for name in [*names.split(), "covariances", "cluster", "files", "sites"]]
    runs += [["untuned", "--save"], ["untuned", "--tails", "--save"]]
    for name, *asked in runs:
        script = Path(__file__).with_name(f"bench_{name}.py")
        subprocess.run([sys.executable, str(script), *asked], check=True)
    save_noise()


def save_noise() -> None:
    facts = _common.machine()
    table = bench_noise.rows()
    limit = table[0]["seconds"]
    rows = [
        {
            "sampler": row["sampler"],
            "draws": row["draws"],
            "seconds": f"{row['seconds']:.4f}",
            "x numpy": f"{row['seconds'] / limit:.1f}",
            "settled in mpmath": f"{row['settled']:.1f}",
        }
        for row in table
    ]
    _common.save("noise", rows, facts)
    _common.show(rows, facts)


def page(tables: dict[str, str]) -> str:
    """The tables of one page as reStructuredText."""
    parts = []
    for name, title in tables.items():
        if not (_common.RESULTS / f"{name}.csv").exists():
            parts.append(f"{title}: not measured yet.\n")
            continue
        rows, facts = _common.load(name)
        text = io.StringIO()
        writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writerows([list(rows[0]), *(list(row.values()) for row in rows)])
        body = "".join(f"   {line}\n" for line in text.getvalue().splitlines())
        told = "; ".join(f"{key}: {value}" for key, value in facts.items())
        parts.append(f".. csv-table:: {title}\n   :header-rows: 1\n\n{body}\n*{told}*\n")
    return "\n".join([".. Generated by benchmarks/make_tables.py; do not edit.\n", *parts])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--run", action="store_true", help="measure before writing")
    parser.add_argument("--noise", action="store_true", help="measure the noise only")
    options = parser.parse_args()
    if options.run:
        measure()
    elif options.noise:
        save_noise()
    TABLES.mkdir(parents=True, exist_ok=True)
    for name, tables in PAGES.items():
        (TABLES / f"{name}.rst").write_text(page(tables))


if __name__ == "__main__":
    main()
