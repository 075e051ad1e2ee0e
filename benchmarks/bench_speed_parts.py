"""Where the time of a fit goes: its questions by name, and what comes between them.

Run ``python benchmarks/bench_speed_parts.py``. Data and methods are those of ``bench_speed.py``,
told nothing, and noise is secure. A part is the median over the fits of the seconds in all
questions of one name, with their noise; *validation* is the look at the rows before the charge.
*The product* and *a read* are beside them: what ``dsyrk`` and a sum of all entries take.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from statistics import median
from time import perf_counter, sleep
from typing import Any
from unittest import mock

import numpy as np
from _common import arguments, machine, save
from bench_speed import K, data
from scipy.linalg.blas import dsyrk
from timing import PAUSE

import skdppca
from skdppca.decomposition import tables
from skdppca.private_data import PrivateData
from skdppca.records import Records

SIZES = ((100_000, 100), (1_000_000, 100), (20_000, 1000))
METHODS = ("DPGauss", "PrivatePCA", "KDPPCA")
# What a fit does between its questions.
BETWEEN = {
    "shifted": "rows less the centre",
    "scores": "rows along the components",
    "sample": "a random part of the rows",
}


class Parts:
    """Calls and seconds of the parts of one fit, in the order in which they began."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.calls: dict[str, int] = {}

    def timed(self, f: Callable[..., Any], name: Callable[..., str]) -> Callable[..., Any]:
        @wraps(f)
        def of(*given: Any, **more: Any) -> Any:
            part, start = name(*given, **more), perf_counter()
            self.seconds.setdefault(part, 0.0)
            try:
                return f(*given, **more)
            finally:
                self.seconds[part] += perf_counter() - start
                self.calls[part] = self.calls.get(part, 0) + 1

        return of

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Everything that is fitted meanwhile is timed by its parts."""
        asked = self.timed(PrivateData.ask, lambda *given, name="", **_: name or given[3])
        with (
            mock.patch.object(PrivateData, "ask", asked),
            mock.patch.object(
                tables, "check_rows", self.timed(tables.check_rows, lambda *_, **__: "validation")
            ),
        ):
            originals = {method: getattr(Records, method) for method in BETWEEN}
            for method, part in BETWEEN.items():
                setattr(
                    Records, method, self.timed(originals[method], lambda *_, part=part, **__: part)
                )
            try:
                yield
            finally:
                for method, original in originals.items():
                    setattr(Records, method, original)


def one_fit(method: str, X: np.ndarray) -> tuple[Parts, float]:
    parts, pca = Parts(), getattr(skdppca, method)(K)
    sleep(PAUSE)
    with parts.taken():
        start = perf_counter()
        pca.fit(X)
        return parts, perf_counter() - start


def row(size: str, method: str, part: str, calls: str, seconds: float, whole: float) -> dict:
    share = f"{seconds / whole:.0%}"
    told = {"size": size, "method": method, "part": part, "calls": calls}
    return told | {"seconds": f"{seconds:.2g}", "share": share}


def rows_of(n: int, d: int, repeats: int) -> Iterator[dict]:
    X, size = data(n, d), f"{n} x {d}"
    for method in METHODS:
        fits = [one_fit(method, X) for _ in range(repeats + 1)][1:]
        whole = median(seconds for _, seconds in fits)
        names = list(dict.fromkeys(name for parts, _ in fits for name in parts.seconds))
        rest = median(seconds - sum(parts.seconds.values()) for parts, seconds in fits)
        for name in names:
            seconds = median(parts.seconds.get(name, 0.0) for parts, _ in fits)
            calls = median(parts.calls.get(name, 0) for parts, _ in fits)
            yield row(size, method, name, f"{calls:.0f}", seconds, whole)
        yield row(size, method, "all else", "", rest, whole)
        yield row(size, method, "the whole fit", "", whole, whole)
        for name, part in {"the product": lambda: dsyrk(1.0, X.T), "a read": X.sum}.items():
            seconds = median(_seconds(part) for _ in range(repeats))
            yield row(size, method, name, "", seconds, whole)


def _seconds(f: Callable[[], object]) -> float:
    start = perf_counter()
    f()
    return perf_counter() - start


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--repeats", type=int, default=9)
    repeats = parser.parse_args().repeats
    rows, facts = [], machine() | {"repeats": str(repeats)}
    for n, d in SIZES:
        for one in rows_of(n, d, repeats):
            rows.append(one)
            print(*one.values(), sep=" | ", file=sys.stderr, flush=True)
    save("speed_parts", rows, facts)


if __name__ == "__main__":
    main()
