"""Time a whole private fit beside scikit-learn's, the physical limit, and other packages.

Run ``python benchmarks/bench_speed.py``. DPGauss gets no public facts and draws secure noise. All
cases of a size take turns, so that a slow spell of the machine hits them alike; ``x sklearn`` is
the median over the rounds of the ratio within a round.
"""

from __future__ import annotations

import argparse
import sys
from statistics import median

import _peers
import numpy as np
from _common import interleaved, machine, paired_ratio, save, show
from sklearn.decomposition import PCA
from threadpoolctl import threadpool_limits

from skdppca import DPGauss

K = 10
SIZES = {(100_000, 100): 5.0, (20_000, 1000): 2.5}  # the target: at most so many times sklearn
PEER_SIZES = [(2000, 5), (2000, 10), (2000, 15), (2000, 20), *SIZES]


def data(n: int, d: int) -> np.ndarray:
    """Float64 rows with a decaying spectrum and a mean that has to be found."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    X *= 10 / np.sqrt(np.arange(1, d + 1))
    X += 3.0
    return X


def time_size(n: int, d: int, threads: int, repeats: int) -> list[dict]:
    X = data(n, d)
    cases = {
        "sklearn PCA(covariance_eigh)": PCA(K, svd_solver="covariance_eigh").fit,
        "DPGauss": DPGauss(K).fit,
        "X.sum()": lambda X: X.sum(),
        "X.T @ X": lambda X: X.T @ X,
    }
    if threads > 1:
        cases[f"DPGauss(n_jobs={threads})"] = DPGauss(K, n_jobs=threads).fit
    with threadpool_limits(limits=threads):
        times = interleaved({name: lambda f=f: f(X) for name, f in cases.items()}, repeats)
    walls = {name: [wall for wall, _ in pairs] for name, pairs in times.items()}
    cpus = {name: [cpu for _, cpu in pairs] for name, pairs in times.items()}
    reference = next(iter(cases))
    rows = []
    for name in cases:
        ratio = paired_ratio(walls[name], walls[reference])
        target = SIZES[n, d] if name.startswith("DPGauss") else None
        rows.append(
            {
                "size": f"{n} x {d}",
                "threads": threads,
                "what": name,
                "median s": f"{median(walls[name]):.3f}",
                "min s": f"{min(walls[name]):.3f}",
                "processor s": f"{median(cpus[name]):.3f}",
                "x sklearn": f"{ratio:.2f}",
                "x sklearn, processor": f"{paired_ratio(cpus[name], cpus[reference]):.2f}",
                "target": "" if target is None else f"at most {target:g}",
                "reached": "" if target is None else ("yes" if ratio <= target else "no"),
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
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--peers", choices=["also", "only", "no"], default="also")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds a peer may take")
    options = parser.parse_args()
    facts = machine() | {"repeats": str(options.repeats)}
    if options.peers != "only":
        rows = []
        for n, d in SIZES:
            for threads in options.threads:
                rows += time_size(n, d, threads, options.repeats)
        save("speed", rows, facts)
        show(rows, facts)
    if options.peers != "no":
        rows, facts = time_peers(options.limit), machine()
        save("speed_peers", rows, facts)
        show(rows, facts)


if __name__ == "__main__":
    main()
