"""What the benchmarks share: interleaved timing, the machine, and tables as commented csv."""

from __future__ import annotations

import csv
import hashlib
import os
import platform
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

import skdppca

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("skdppca", "numpy", "scipy", "scikit-learn", "joblib", "mpmath", "mlxtend")


def machine() -> dict[str, str]:
    """When and on what a run was made; the load is the one found at its start."""
    load = "/".join(f"{x:.1f}" for x in os.getloadavg())
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "cpu": f"{_cpu_model()}, {os.cpu_count()} cores",
        "load": f"{load} (1, 5 and 15 minutes, at the start)",
        "versions": ", ".join([f"Python {platform.python_version()}", *_versions()]),
        "sources": _digest(),
    }


def _digest() -> str:
    """Of the sources that are measured: a table whose digest is not today's is out of date."""
    digest = hashlib.sha256()
    for path in sorted(Path(skdppca.__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


def _versions() -> list[str]:
    found = []
    for package in PACKAGES:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return found


def interleaved(
    cases: dict[str, Callable[[], object]], repeats: int
) -> dict[str, list[tuple[float, float]]]:
    """(Wall, processor) seconds of every case, one of each a round, after one untimed round.

    A slow spell of the machine then hits all cases alike.
    """
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in cases}
    for repeat in range(repeats + 1):
        for name, function in cases.items():
            wall, cpu = perf_counter(), process_time()
            function()
            if repeat:
                times[name].append((perf_counter() - wall, process_time() - cpu))
    return times


def paired_ratio(times: list[float], reference: list[float]) -> float:
    """Median over the rounds of time / reference time."""
    return median(a / b for a, b in zip(times, reference, strict=True))


def save(name: str, rows: list[dict], facts: dict[str, str]) -> Path:
    """Write ``results/<name>.csv``: the facts as comments, then one row a dict."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.csv"
    with path.open("w", newline="") as file:
        file.writelines(f"# {key}: {value}\n" for key, value in facts.items())
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return path


def load(name: str) -> tuple[list[dict[str, str]], dict[str, str]]:
    """Read what `save` wrote."""
    with (RESULTS / f"{name}.csv").open(newline="") as file:
        lines = file.readlines()
    comments = [line[2:].rstrip("\n") for line in lines if line.startswith("# ")]
    rows = list(csv.DictReader(line for line in lines if not line.startswith("# ")))
    return rows, dict(comment.split(": ", 1) for comment in comments)


def show(rows: list[dict], facts: dict[str, str]) -> None:
    """Print a table on the terminal."""
    for key, value in facts.items():
        print(f"{key}: {value}")
    table = [list(rows[0]), *([str(value) for value in row.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for line in table:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        print("  ".join(cells).rstrip())
    sys.stdout.flush()
