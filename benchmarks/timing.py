"""Times of cases that take turns, and time and memory of a fresh process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from threading import Event, Thread
from time import perf_counter, process_time, sleep

# Seconds. Threads of OpenBLAS spin for .1 s after a product, and would take a core from what comes
# next: DPGauss(n_jobs=2) took 39 ms on 10 000 x 100 rows right after other fits, and 19 after this.
PAUSE = 0.15


def interleaved(
    cases: dict[str, Callable[[], object]], repeats: int
) -> dict[str, list[tuple[float, float]]]:
    """(Wall, processor) seconds of every case, one of each a round, after one untimed round.

    A slow spell of the machine then hits all cases alike. Before each one nothing runs for `PAUSE`.
    """
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in cases}
    for repeat in range(repeats + 1):
        for name, function in cases.items():
            sleep(PAUSE)
            wall, cpu = perf_counter(), process_time()
            function()
            if repeat:
                times[name].append((perf_counter() - wall, process_time() - cpu))
    return times


def paired_ratio(times: list[float], reference: list[float]) -> float:
    """Median over the rounds of time / reference time."""
    return median(a / b for a, b in zip(times, reference, strict=True))


def fresh(script: str, *arguments: object, **environment: str) -> dict[str, float]:
    """Run a script in a fresh process, and return what its last line says in JSON."""
    done = subprocess.run(
        [sys.executable, script, *map(str, arguments)],
        capture_output=True,
        text=True,
        env=os.environ | environment,
    )
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def status(field: str, pid: int | str = "self") -> int:
    """Return bytes that the kernel knows of a process, such as RssAnon (Linux 4.5 or newer)."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return 1024 * int(line.split()[1])
    raise RuntimeError(f"/proc/{pid}/status has no {field}; this benchmark needs Linux")


def watched(
    function: Callable[[], object], memory: Callable[[], int], every: float
) -> dict[str, float]:
    """Call a function; memory before it, its peak, and the seconds that it took."""
    before = peak = memory()
    done = Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(every):
            peak = max(peak, memory())

    watcher = Thread(target=watch)
    watcher.start()
    start = perf_counter()
    function()
    seconds = perf_counter() - start
    done.set()
    watcher.join()
    return {"before": before, "peak": peak, "seconds": seconds}
