"""Times of cases that take turns, and time and memory of a fresh process."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from threading import Event, Thread
from time import perf_counter, process_time, sleep
from typing import Any
from unittest import mock
from warnings import simplefilter

import numpy as np

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


def fresh(function: Callable[..., Any], *arguments: object, **environment: str) -> Any:
    """Call a function of a script in a fresh process, and return what it returns."""
    with (
        mock.patch.dict(os.environ, environment),
        # seeds make tables repeatable, and nothing private is in them
        ProcessPoolExecutor(
            1, get_context("spawn"), initializer=simplefilter, initargs=("ignore",)
        ) as pool,
    ):
        return pool.submit(function, *arguments).result()


def write(path: Path, n: int, d: int) -> None:
    """Write normal float32 rows around 3 part by part, so that this process stays small."""
    if shutil.disk_usage(path.parent).free < 6 * n * d:
        sys.exit(f"{path.parent} has no {6 * n * d / 1e9:.1f} GB free; set TMPDIR to more")
    rng = np.random.default_rng(0)
    X = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, d))
    for start in range(0, n, 100_000):
        part = X[start : start + 100_000]
        part[...] = rng.standard_normal(part.shape, dtype=np.float32) + 3
    X.flush()


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
