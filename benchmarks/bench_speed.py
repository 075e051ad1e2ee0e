"""Time whole private fits beside scikit-learn's, the physical parts, and other packages.

Run ``python benchmarks/bench_speed.py``. Nobody is told anything of the data, and noise is secure.
All cases of a size take turns, so a slow spell of the machine hits them alike; ``x sklearn`` is
the median over the rounds of the ratio to the first case, `covariance_eigh`, within a round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import _peers
import numpy as np
from _common import Measured, measure
from scipy.linalg.blas import dsyrk
from sklearn.decomposition import PCA
from threadpoolctl import threadpool_limits
from timing import PAUSE, interleaved, paired_ratio

from skdppca import GDPPCA, KDPPCA, DPGauss, DPPowerMethod, KDPOjas, PrivatePCA

K, THREADS = 5, 2
SECONDS, LIMIT = 60.0, 60.0  # of a size, about; and of the fit of another package, at most
METHODS = (DPGauss, PrivatePCA, KDPPCA, KDPOjas, DPPowerMethod, GDPPCA)

SIZES = (
    (2_000, 30),
    (1_000_000, 10),
    (10_000, 100),
    (100_000, 100),
    (1_000_000, 100),
    (20_000, 1000),
    (20_000, 2000),
    (10_000_000, 20),
    (8, 5000),
    (8, 8000),
)
# Rows in a file that is mapped into memory.
MAPPED = {(10_000_000, 20)}

# GDPPCA forms pairs of rows: left out where one fit takes more than a minute.
TOO_LONG = {("GDPPCA", (20_000, 2000)), ("GDPPCA", (10_000_000, 20))}
PEER_SIZES = [(2000, 5), (2000, 10), (2000, 15), (2000, 20), (100_000, 100), (20_000, 1000)]


def data(n: int, d: int, out: np.ndarray | None = None) -> np.ndarray:
    """Float64 rows with a decaying spectrum and a mean that has to be found."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d), out=out)
    X *= 10 / np.sqrt(np.arange(1, d + 1))
    X += 3.0
    return X


@contextmanager
def table(n: int, d: int) -> Iterator[np.ndarray]:
    """These rows, in memory or mapped into it for as long as they are needed."""
    if (n, d) not in MAPPED:
        yield data(n, d)
        return
    with TemporaryDirectory() as folder:
        X = np.lib.format.open_memmap(Path(folder, "X.npy"), "w+", np.float64, (n, d))
        yield data(n, d, X)


def cases_of(n: int, d: int) -> dict[str, Callable[[np.ndarray], object]]:
    """All fits of one size, scikit-learn's first, and the parts that no method can do without.

    Of rows that are few and wide only one method, beside what suits them of scikit-learn.
    """
    if n < d:
        return {"PCA(full)": PCA(K, svd_solver="full").fit, "PrivatePCA": PrivatePCA(1).fit}
    cases: dict[str, Callable[[np.ndarray], object]] = {
        "PCA(covariance_eigh)": PCA(K, svd_solver="covariance_eigh").fit,
        "PCA(randomized)": PCA(K, svd_solver="randomized").fit,
        "X.sum(), a read": np.sum,
        "X.T @ X by dsyrk": lambda X: dsyrk(1.0, X.T),
    }
    for method in METHODS:
        if (method.__name__, (n, d)) not in TOO_LONG:
            cases[method.__name__] = method(K).fit
    cases["DPGauss(n_jobs=1)"] = DPGauss(K, n_jobs=1).fit
    return cases


def time_size(n: int, d: int, repeats: int) -> list[dict]:
    cases = cases_of(n, d)
    with table(n, d) as X, threadpool_limits(limits=THREADS):
        times = interleaved({name: lambda f=f: f(X) for name, f in cases.items()}, repeats)
    walls = {name: [wall for wall, _ in pairs] for name, pairs in times.items()}
    cpus = {name: [cpu for _, cpu in pairs] for name, pairs in times.items()}
    reference = next(iter(cases))
    return [
        {
            "size": f"{n} x {d}",
            "threads": THREADS,
            "what": name,
            "median s": f"{median(walls[name]):.3g}",
            "min s": f"{min(walls[name]):.3g}",
            "processor s": f"{median(cpus[name]):.3g}",
            "x sklearn": f"{paired_ratio(walls[name], walls[reference]):.2f}",
            "x sklearn, minima": f"{min(walls[name]) / min(walls[reference]):.2f}",
            "x sklearn, processor": f"{paired_ratio(cpus[name], cpus[reference]):.2f}",
        }
        for name in cases
    ]


def speed(_: int) -> Iterator[dict]:
    """Rows of all sizes, each measured for about `SECONDS`."""
    for n, d in SIZES:
        round_s = sum(PAUSE + float(row["median s"]) for row in time_size(n, d, 1))
        yield from time_size(n, d, min(max(round(SECONDS / round_s), 3), 99))


def time_peers(_: int) -> Iterator[dict]:
    """One fit of every peer and size, in a process that may take `LIMIT` seconds."""
    for peer in _peers.PEERS.values():
        _peers.prepare(peer)
        for n, d in PEER_SIZES:
            answer = _peers.run(peer, data(n, d), k=2, epsilon=1.0, limit=LIMIT)
            result = answer.get("failure") or f"{answer['seconds']:.2f} s"
            yield {"package": ", ".join(peer.requirements), "size": f"{n} x {d}", "fit": result}


if __name__ == "__main__":
    told = {"repeats": "3 to 99, by the time that a round takes"}
    measure(__doc__, {"speed": Measured(speed, facts=told), "speed_peers": Measured(time_peers)})
