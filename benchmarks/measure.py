"""Measure the published tables again, part by part; `registry.py` lists the parts.

    python benchmarks/measure.py                 # list the parts, and how long they take
    python benchmarks/measure.py --run           # measure all: make measure
    python benchmarks/measure.py --run --only tails   # parts whose commands hold this

A run that was stopped goes on after the last part that was done, and within a long part after what
it had kept, as long as the commit is the same. Times are not stored from a busy machine.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import _common
import keys
import make_tables
from registry import PACKAGE_OF_R, PARTS, PEOPLES_DATA, Part

WAIT = 600  # for a machine to become idle


def note(part: Part) -> None:
    """Note date, processor and commit of tables in doc/experiments: no lines there tell them."""
    facts = {"date": _common.today(), "cpu": _common.cpu(), "commit": _common.commit()}
    for name in part.tables:
        if keys.table_path(name).parent != _common.RESULTS:
            _common.note("experiments", {"table": name, **facts})


def idle() -> bool:
    """Wait for an idle machine; whether it has become one."""
    deadline = time.monotonic() + WAIT
    while os.getloadavg()[0] > _common.BUSY / 2:  # the start of the part itself is a load
        if time.monotonic() > deadline:
            return False
        time.sleep(10)
    return True


def lacking(part: Part) -> str:
    """Return why a part cannot be measured here."""
    if PEOPLES_DATA in part.needs and not os.environ.get("SKDPPCA_DATA"):
        return "SKDPPCA_DATA names no folder"
    if PACKAGE_OF_R in part.needs and shutil.which("Rscript") is None:
        return "there is no Rscript"
    if part.times and not idle():
        return f"the load stays above {_common.BUSY}, and it measures times"
    return ""


def run(part: Part) -> bool:
    """Run a part; its minutes are stored unless it goes on where it was stopped."""
    first, load = not (_raw() / part.path.stem).exists(), os.getloadavg()[0]
    start = time.monotonic()
    done = subprocess.run([sys.executable, *part.command], check=False)
    if done.returncode == 0 and first:
        minutes = str(max(1, round((time.monotonic() - start) / 60)))
        row = {"part": part.script, "minutes": minutes, "date": _common.today()}
        _common.note("minutes", row | {"load": f"{load:.1f}"})
    return done.returncode == 0


def _raw() -> Path:
    return _common.RAW / _common.commit()


def measure(parts: list[Part], *, again: bool) -> list[str]:
    """Run the parts, less those that a stopped run of all has done; what was left out, and why."""
    listed = _raw() / "measured.txt"
    done = listed.read_text().splitlines() if again and listed.exists() else []
    left = []
    for part in parts:
        if part.script in done:
            continue
        why = lacking(part)
        if not why:
            print(f"== {part.script}", flush=True)
            why = "" if run(part) else "it failed"
        if why:
            left.append(f"{part.script}: {why}")
            continue
        note(part)
        make_tables.main()
        shutil.rmtree(_raw() / part.path.stem, ignore_errors=True)
        if again:
            listed.parent.mkdir(parents=True, exist_ok=True)
            with listed.open("a") as file:
                file.write(f"{part.script}\n")
    if again and not left:
        shutil.rmtree(_raw(), ignore_errors=True)
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
    parser.add_argument("--only", default="", help="parts whose commands hold this")
    options = parser.parse_args()
    parts = [part for part in PARTS if options.only in part.script]
    if options.run:
        print(hours(parts))
        left = measure(parts, again=not options.only)
        print("\n".join(["== not measured:", *left]) if left else "== all measured")
        sys.exit(bool(left))
    for part in parts:
        print(f"{part.minutes or '?':>4} min  {part.script}: {part.answers}")
        needs = ", ".join(["an idle machine"] * part.times + [part.needs] * bool(part.needs))
        print(f"{'':10}tables {', '.join(part.tables)}" + f"; needs {needs}" * bool(needs))
    print(hours(parts))


if __name__ == "__main__":
    main()
