"""What the benchmarks share: options, the machine, and tables as commented csv."""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import os
import platform
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

RESULTS = Path(__file__).parent / "results"
RAW = RESULTS / "raw"  # not in git
SAVE = "SKDPPCA_BENCHMARK_SAVE"  # where a run that stores its tables keeps what it has measured
BUSY = 0.5  # load at the start, of which no times are stored
LOAD = os.getloadavg()
PACKAGES = ("skdppca", "numpy", "scipy", "scikit-learn", "joblib", "mpmath", "mlxtend")


class Measured(NamedTuple):
    """How a table is measured: rows of so many repeats, that number, and the table's facts.

    In a fact ``{}`` stands for the number of repeats. `summary` makes facts of all rows, and
    `shown` a row of the table, or None.
    """

    rows: Callable[[int], Iterable[dict]]
    repeats: int = 1
    facts: Mapping[str, str] = {}
    summary: Callable[[list[dict]], Mapping[str, str]] = lambda rows: {}
    shown: Callable[[dict], dict | None] = lambda row: row


def measure(doc: str, tables: Mapping[str, Measured]) -> None:
    """Command line of a benchmark: measure its tables, or those of ``--only``, and save them."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--save", action="store_true", help="store the tables in results/")
    parser.add_argument("--only", nargs="+", choices=tables, default=[*tables], help="tables")
    parser.add_argument("--repeats", type=int, help="instead of the published number")
    options = parser.parse_args()
    if options.save:  # processes that it starts read it, too
        os.environ[SAVE] = str(RAW / commit() / Path(sys.argv[0]).stem)
    warnings.simplefilter("ignore")  # seeds make tables repeatable; all data are drawn or public
    for name in options.only:
        start, facts, repeats = perf_counter(), machine(), options.repeats or tables[name].repeats
        rows = []
        for row in tables[name].rows(repeats):
            rows.append(row)
            print(*row.values(), sep=" | ", file=sys.stderr, flush=True)
        facts |= {key: fact.format(repeats) for key, fact in tables[name].facts.items()}
        facts |= {**tables[name].summary(rows), "seconds": f"{perf_counter() - start:.0f}"}
        save(name, [row for one in rows if (row := tables[name].shown(one))], facts)


def _named(one: object) -> str:
    return getattr(one, "__qualname__", repr(one))


def machine() -> dict[str, str]:
    """When and on what a run was made; the load is the one found at its start."""
    load = "/".join(f"{x:.1f}" for x in LOAD)
    return {
        "date": today(),
        "cpu": cpu(),
        "load": f"{load} (1, 5 and 15 minutes, at the start)",
        "versions": ", ".join([f"Python {platform.python_version()}", *_versions()]),
        "commit": commit(),
    }


def today() -> str:
    """Return the date as tables have it."""
    return datetime.now(UTC).strftime("%Y-%m-%d")


@cache
def commit() -> str:
    """Return the commit that is measured, with a plus where its code was edited since."""
    git = ["git", "-C", str(RESULTS.parent)]
    head = [*git, "rev-parse", "--short=12", "HEAD"]
    found = subprocess.run(head, capture_output=True, check=False, text=True).stdout.strip()
    code = [*git, "diff", "--quiet", "HEAD", "--", ":/skdppca", ":/benchmarks/**.py"]
    edited = subprocess.run(code, capture_output=True, check=False).returncode
    return f"{found}{'+' * bool(edited)}" if found else "no repository"


def kept(function: Callable[..., Any], *given: object) -> Any:
    """``function(*given)``; a run that stores its tables and was interrupted goes on there.

    For figures that hold no times and are made of numbers, text, lists and dicts. What edited code
    has measured is not kept, for it may be edited again.
    """
    if SAVE not in os.environ or commit().endswith("+"):
        return function(*given)
    told = repr((function.__name__, *map(_named, given)))
    path = Path(os.environ[SAVE], f"{hashlib.sha256(told.encode()).hexdigest()[:16]}.json")
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        whole = path.with_suffix(f".{os.getpid()}")
        whole.write_text(json.dumps(function(*given)))
        whole.replace(path)
    return json.loads(path.read_text())


def cpu() -> str:
    """Return the model of the processor, and its number of cores."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    model = models[0] if models else platform.processor() or platform.machine()
    return f"{model}, {os.cpu_count()} cores"


def _versions() -> list[str]:
    found = []
    for package in PACKAGES:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return found


def save(name: str, rows: list[dict], facts: dict[str, str]) -> Path:
    """Print a table; with ``--save`` write ``results/<name>.csv``, with the facts as comments."""
    show(rows, facts)
    path = RESULTS / f"{name}.csv"
    if SAVE not in os.environ:
        print(f"{name}: not stored; --save stores it")
        return path
    import registry

    part = registry.part_of(name)
    if part is not None and part.times and LOAD[0] > BUSY:
        raise SystemExit(
            f"{name}: not stored, for it holds times, and the load was {LOAD[0]:.1f} at the start; "
            f"measure it where the load is below {BUSY}"
        )
    RESULTS.mkdir(exist_ok=True)
    _write(path, rows, "".join(f"# {key}: {value}\n" for key, value in facts.items()))
    return path


def noted(name: str) -> dict[str, dict[str, str]]:
    """First cell -> row of what runs have noted; some cells are empty where nobody noted them."""
    path = RESULTS / f"{name}.csv"
    return {next(iter(row.values())): row for row in (read(path)[0] if path.exists() else ())}


def note(name: str, row: dict[str, str]) -> None:
    """Note a row, in the place of what was noted before of the same first cell."""
    found = noted(name) | {next(iter(row.values())): row}
    _write(RESULTS / f"{name}.csv", [found[key] for key in sorted(found)])


def _write(path: Path, rows: list[dict], head: str = "") -> None:
    with path.open("w", newline="") as file:
        file.write(head)
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def load(name: str) -> tuple[list[dict[str, str]], dict[str, str]]:
    """Read what `save` wrote."""
    return read(RESULTS / f"{name}.csv")


def read(path: Path) -> tuple[list[dict[str, str]], dict[str, str]]:
    """Rows and facts of a table."""
    with path.open(newline="") as file:
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
