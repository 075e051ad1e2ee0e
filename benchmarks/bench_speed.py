"""Time whole private fits beside scikit-learn's, the physical parts, and other packages.

Run ``python benchmarks/bench_speed.py``. Nobody is told anything of the data, and noise is secure.
All cases of a size take turns, so a slow spell of the machine hits them alike; ``x sklearn`` is
the median over the rounds of the ratio to `covariance_eigh` within a round.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from statistics import median

import _peers
import numpy as np
from _common import arguments, machine, save
from scipy.linalg.blas import dsyrk
from sklearn.decomposition import PCA
from threadpoolctl import threadpool_limits
from timing import PAUSE, interleaved, paired_ratio

from skdppca import GDPPCA, KDPPCA, DPGauss, DPPowerMethod, KDPOjas, PrivatePCA

K = 5
METHODS = (DPGauss, PrivatePCA, KDPPCA, KDPOjas, DPPowerMethod, GDPPCA)

SIZES = (
    (2_000, 30),
    (1_000_000, 10),
    (10_000, 100),
    (100_000, 100),
    (1_000_000, 100),
    (20_000, 1000),
    (20_000, 2000),
)

# GDPPCA forms pairs of rows: left out where one fit takes more than a minute.
TOO_LONG = {("GDPPCA", (20_000, 2000))}
PEER_SIZES = [(2000, 5), (2000, 10), (2000, 15), (2000, 20), (100_000, 100), (20_000, 1000)]


def data(n: int, d: int) -> np.ndarray:
    """Float64 rows with a decaying spectrum and a mean that has to be found."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    X *= 10 / np.sqrt(np.arange(1, d + 1))
    X += 3.0
    return X


def cases_of(n: int, d: int, threads: int) -> dict[str, Callable[[np.ndarray], object]]:
    """All fits of one size, scikit-learn's first, and the parts that no method can do without."""
    cases: dict[str, Callable[[np.ndarray], object]] = {
        "PCA(covariance_eigh)": PCA(K, svd_solver="covariance_eigh").fit,
        "PCA(randomized)": PCA(K, svd_solver="randomized").fit,
        "X.sum(), a read": np.sum,
        "X.T @ X by dsyrk": lambda X: dsyrk(1.0, X.T),
    }
    for method in METHODS:
        if (method.__name__, (n, d)) not in TOO_LONG:
            cases[method.__name__] = method(K).fit
    if threads > 1:
        cases["DPGauss(n_jobs=1)"] = DPGauss(K, n_jobs=1).fit
    return cases


def time_size(n: int, d: int, threads: int, repeats: int) -> list[dict]:
    X, cases = data(n, d), cases_of(n, d, threads)
    with threadpool_limits(limits=threads):
        times = interleaved({name: lambda f=f: f(X) for name, f in cases.items()}, repeats)
    walls = {name: [wall for wall, _ in pairs] for name, pairs in times.items()}
    cpus = {name: [cpu for _, cpu in pairs] for name, pairs in times.items()}
    reference = next(iter(cases))
    rows = []
    for name in cases:
        ratio = paired_ratio(walls[name], walls[reference])
        rows.append(
            {
                "size": f"{n} x {d}",
                "threads": threads,
                "what": name,
                "median s": f"{median(walls[name]):.3g}",
                "min s": f"{min(walls[name]):.3g}",
                "processor s": f"{median(cpus[name]):.3g}",
                "x sklearn": f"{ratio:.2f}",
                "x sklearn, minima": f"{min(walls[name]) / min(walls[reference]):.2f}",
                "x sklearn, processor": f"{paired_ratio(cpus[name], cpus[reference]):.2f}",
            }
        )
    return rows


def time_peers(limit: float) -> list[dict]:
    """One fit of every peer and size, in a process that may take `limit` seconds."""
    rows = []
    for peer in _peers.PEERS.values():
        _peers.prepare(peer)
        for n, d in PEER_SIZES:
            answer = _peers.run(peer, data(n, d), k=2, epsilon=1.0, limit=limit)
            result = answer.get("failure") or f"{answer['seconds']:.2f} s"
            rows.append(
                {"package": ", ".join(peer.requirements), "size": f"{n} x {d}", "fit": result}
            )
            print(*rows[-1].values(), sep=" | ", file=sys.stderr, flush=True)
    return rows


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="about, a size and threads")
    parser.add_argument("--threads", type=int, nargs="+", default=[2])
    parser.add_argument("--size", type=int, nargs=2, action="append", help="rows and features")
    parser.add_argument("--peers", choices=["also", "only", "no"], default="also")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds a peer may take")
    options = parser.parse_args()
    facts = machine() | {"repeats": "3 to 99, by the time that a round takes"}
    if options.peers != "only":
        rows = []
        for n, d in [tuple(size) for size in options.size or SIZES]:
            for threads in options.threads:
                once = time_size(n, d, threads, 1)
                round_s = sum(PAUSE + float(row["median s"]) for row in once)
                repeats = min(max(round(options.seconds / round_s), 3), 99)
                rows += time_size(n, d, threads, repeats)
                for row in rows[-len(once) :]:
                    print(*row.values(), sep=" | ", file=sys.stderr, flush=True)
        save("speed", rows, facts)
    if options.peers != "no":
        rows, facts = time_peers(options.limit), machine()
        save("speed_peers", rows, facts)


if __name__ == "__main__":
    main()
