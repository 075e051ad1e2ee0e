"""Measure the published tables again, part by part; `registry.py` lists the parts.

    python benchmarks/measure.py                 # list the parts, and how long they take
    python benchmarks/measure.py --stale         # list the tables whose code has changed
    python benchmarks/measure.py --run           # measure all: make measure
    python benchmarks/measure.py --run --stale   # those alone: make measure STALE=1

A run that was stopped goes on after the last part that was done, and within a long part after what
it had kept. No part runs for more than an hour: one that takes longer is stopped and started again.
Times are not stored from a busy machine.
"""

from __future__ import annotations

import argparse
import csv
import math
import os
import shutil
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import _common
import keys
import make_tables
import registry
from registry import PACKAGE_OF_R, PARTS, PEOPLES_DATA, Part

EXPERIMENTS = _common.RESULTS / "experiments.csv"  # digests of what is stored in doc/experiments
DONE = _common.RAW / "measured.txt"  # parts that this run of all has measured
HOUR = 3600
WAIT = 600  # for a machine to become idle
MADE = "measured with"  # the digest of the code that made the numbers, where it is another
NOTED = ("table", "date", "sources", MADE)


def noted() -> dict[str, dict[str, str]]:
    """What is known of the experiments, whose tables have no lines of facts."""
    if not EXPERIMENTS.exists():
        return {}
    with EXPERIMENTS.open(newline="") as file:
        return {row["table"]: row for row in csv.DictReader(file)}


def note(part: Part) -> None:
    """Store the digest of an experiment."""
    rows, today = noted(), datetime.now(UTC).strftime("%Y-%m-%d")
    for table in part.tables:
        if keys.table_path(table).parent != _common.RESULTS:
            rows[table] = dict(zip(NOTED, (table, today, part.digest, part.digest), strict=True))
    if rows:
        _write(rows)


def _write(rows: dict[str, dict[str, str]]) -> None:
    with EXPERIMENTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, NOTED, lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted(rows.values(), key=lambda row: row["table"]))


def digest_of(table: str) -> str:
    """The digest of code that makes a stored table's numbers; empty if nobody knows."""
    if keys.table_path(table).parent == _common.RESULTS:
        return _common.load(table)[1].get("sources", "")
    return noted().get(table, {}).get("sources", "")


def stale() -> dict[str, str]:
    """Table -> why it must be measured again."""
    found = {}
    for part in PARTS:
        for table in part.tables:
            if not registry.stored(table):
                found[table] = "not measured yet"
            elif digest_of(table) != part.digest:
                found[table] = "its code has changed"
    return found


def idle() -> bool:
    """Wait for an idle machine; whether it has become one."""
    deadline = time.monotonic() + WAIT
    while os.getloadavg()[0] > _common.BUSY / 2:  # the start of the part itself is a load
        if time.monotonic() > deadline:
            return False
        time.sleep(10)
    return True


def lacking(part: Part) -> str:
    """Why a part cannot be measured here."""
    if PEOPLES_DATA in part.needs and not os.environ.get("SKDPPCA_DATA"):
        return "SKDPPCA_DATA names no folder"
    if PACKAGE_OF_R in part.needs and shutil.which("Rscript") is None:
        return "there is no Rscript"
    if part.times and not idle():
        return f"the load stays above {_common.BUSY}, and it measures times"
    return ""


def run(part: Part) -> bool:
    """Whether the part has ended well; it is started again as long as it keeps more each hour."""
    before, load = -1, os.getloadavg()[0]
    start = time.monotonic() - _spent(part)
    try:
        while _kept() > before:
            before = _kept()
            try:
                done = subprocess.run([sys.executable, *part.command], timeout=HOUR, check=False)
            except subprocess.TimeoutExpired:
                continue
            minutes = (time.monotonic() - start) / 60
            if done.returncode == 0 and not math.isnan(minutes):
                registry.note_minutes(part, minutes, load)
            return done.returncode == 0
        return False
    finally:
        path = _spent_file(part)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{time.monotonic() - start}")


def _spent(part: Part) -> float:
    """Seconds of a part that was stopped and goes on; nan if nobody noted them."""
    path = _spent_file(part)
    if not any(other.suffix != path.suffix for other in path.parent.glob("*")):
        return 0.0
    return float(path.read_text()) if path.exists() else math.nan


def _spent_file(part: Part) -> Path:
    """Beside what the part keeps."""
    name = "".join(letter if letter.isalnum() else "_" for letter in part.script)
    return _common.RAW / part.digest / f"{name}.seconds"


def _kept() -> int:
    """Bytes of what unfinished parts have measured."""
    files = (path for path in _common.RAW.rglob("*") if path.suffix != ".seconds")
    return sum(path.stat().st_size for path in files if path.is_file())


def measure(parts: list[Part], *, again: bool) -> list[str]:
    """Run the parts that this run has not done yet; what was left out, and why."""
    done = set(DONE.read_text().splitlines()) if again and DONE.exists() else set()
    left = []
    for part in parts:
        line = f"{part.script} {part.digest}"
        if line in done:
            continue
        why = lacking(part)
        if not why:
            print(f"== {part.script}", flush=True)
            why = "" if run(part) else "it failed, or took an hour and kept nothing"
        if why:
            left.append(f"{part.script}: {why}")
            continue
        note(part)
        make_tables.main()
        registry.write_readme("registry.py", registry.readme())
        shutil.rmtree(_common.RAW / part.digest, ignore_errors=True)
        DONE.parent.mkdir(parents=True, exist_ok=True)
        with DONE.open("a") as file:
            file.write(line + "\n")
    if not left:
        DONE.unlink(missing_ok=True)
    return left


def hours(parts: list[Part]) -> str:
    timed = [part.minutes for part in parts if part.minutes is not None]
    return (
        f"{len(parts)} parts: {sum(timed) / 60:.1f} hours on two idle cores for {len(timed)} of "
        f"them, and {len(parts) - len(timed)} that nobody has timed"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--run", action="store_true", help="measure")
    parser.add_argument("--stale", action="store_true", help="only tables whose code has changed")
    parser.add_argument("--only", default="", help="parts whose commands hold this")
    options = parser.parse_args()
    tables = stale() if options.stale else {}
    parts = [part for part in PARTS if not options.stale or tables.keys() & {*part.tables}]
    parts = [part for part in parts if options.only in part.script]
    if options.run:
        print(hours(parts))
        left = measure(parts, again=not options.stale and not options.only)
        print("\n".join(["== not measured:", *left]) if left else "== all measured")
        sys.exit(bool(left))
    if options.stale:
        for table, why in tables.items():
            part = registry.part_of(table)
            print(f"{table}: {why}; {part.script if part else ''}")
        print(f"{len(tables)} of {sum(len(part.tables) for part in PARTS)} tables are stale")
        return
    for part in parts:
        print(f"{part.minutes or '?':>4} min  {part.script}: {', '.join(part.tables)}")
    print(hours(parts))


if __name__ == "__main__":
    main()
