"""How bad the rare fit is: each method, fitted thousands of times to the same kinds of data.

Run ``python benchmarks/bench_tails.py``; half an hour on one core. The captured share of the best
possible variance: median, first percentile and worst of all fits. A fit is a failure if it is below
the median less ``max(.2, 6 MAD)``, MAD the median absolute deviation. delta = 1e-6, add-remove,
no public facts but the budget; rows are drawn anew for every fit. `PrivatePCA` takes ResidualGauss
for all of these.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator

import numpy as np
from _common import Measured, kept, measure
from bench_methods import DELTA, METHODS, Data, drawn, real
from bench_methods import share as share_of
from joblib import Parallel, delayed
from sklearn.datasets import load_digits

from skdppca import GDPPCA, SmoothSensitivityPCA
from skdppca.datasets import make_gaussian, make_spiked
from skdppca.exceptions import SeededNoiseWarning
from skdppca.privacy.charging import needs_no_accountant

FIRST_SEED = 60_000


def power_law(seed: int) -> Data:
    variances = np.arange(1.0, 51) ** -1.5
    rows = np.random.default_rng(seed).standard_normal((3000, 50)) * np.sqrt(variances) + 5.0
    return rows, None, np.diag(variances), {}


# What it shows -> data for a seed, k, epsilon, and the methods that it is nothing for: the gap is
# too small for SmoothSensitivityPCA, or differences of groups' mean rows hold nothing for GDPPCA.
DATA: dict[str, tuple[Callable[[int], Data], int, float, tuple[type, ...]]] = {
    "power law, 3000 x 50": (power_law, 2, 1.0, (SmoothSensitivityPCA,)),
    "spikes in noise, 5000 x 50": (drawn(make_gaussian, 5000, 50, (10, 5), 1.0), 2, 1.0, ()),
    "digits, 1797 x 64": (lambda seed: real(load_digits().data), 2, 1.0, (SmoothSensitivityPCA,)),
    "groups that agree, 1500 of 3 x 60": (
        drawn(make_spiked, 1500, 60, 2, (10, 5), 0.1, unit="group", center=False),
        2,
        1.0,
        (GDPPCA,),
    ),
}


def share(method: type, name: str, seed: int) -> float:
    """What one fit captures."""
    make, k, epsilon, _ = DATA[name]
    with warnings.catch_warnings(), needs_no_accountant():
        warnings.simplefilter("ignore", SeededNoiseWarning)  # drawn or public data
        return share_of(method, make(seed), k, epsilon, seed)


def all_shares(method: type, name: str, seeds: range) -> list[float]:
    return Parallel(n_jobs=-1)(delayed(share)(method, name, seed) for seed in seeds)


def tails(fits: int) -> Iterator[dict]:
    seeds = range(FIRST_SEED, FIRST_SEED + fits)
    for name, (_, k, epsilon, nothing_for) in DATA.items():
        for method in METHODS:
            if method in nothing_for:
                continue
            shares = np.array(kept(all_shares, method, name, seeds))
            median = np.median(shares)
            deviation = np.median(np.abs(shares - median))
            failures = np.count_nonzero(shares < median - max(0.2, 6 * deviation))
            yield (
                {
                    "data": name,
                    "k": k,
                    "epsilon": f"{epsilon:g}",
                    "method": method.__name__,
                    "median": f"{median:.4f}",
                    "first percentile": f"{np.quantile(shares, 0.01):.3f}",
                    "worst": f"{shares.min():.3f}",
                    "failures": int(failures),
                }
            )


if __name__ == "__main__":
    told = {"fits": f"{{}} a method, delta {DELTA:g}"}
    measure(__doc__, {"tails": Measured(tails, 2000, told)})
