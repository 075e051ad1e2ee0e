"""Times of cases that take turns."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
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
