"""Time the exact rounded Gaussian beside numpy's float Gaussian.

Run ``python benchmarks/bench_noise.py``. The target is 0.3 s for the noise of a 1000 x 1000
symmetric matrix with secure randomness.
"""

from time import perf_counter
from unittest import mock

import numpy as np
from _common import Measured, measure

from skdppca.noise import NoiseSource, discrete

D = 1000
DRAWS = D * (D + 1) // 2


def symmetric_noise(source, sd):
    """Draw the upper triangle, variance sd**2 on the diagonal and half of it off, and mirror."""
    rows, columns = np.triu_indices(D)
    upper = source.rounded_gaussian(np.where(rows == columns, sd, sd / np.sqrt(2)), DRAWS)
    noise = np.empty((D, D), dtype=np.int64)
    noise[rows, columns] = upper
    noise[columns, rows] = upper
    return noise


def best_time(function, repeats):
    times = []
    for _ in range(repeats):
        start = perf_counter()
        function()
        times.append(perf_counter() - start)
    return min(times)


def rows(repeats):
    """Yield a row for each sampler: its best time, and the mean number of draws mpmath settled."""
    secure, seeded = NoiseSource(), NoiseSource(0)
    generator = np.random.default_rng(0)
    cases = {
        "numpy Generator.normal, float": lambda: generator.normal(size=DRAWS),
        "secure words alone": lambda: secure.words(DRAWS),
        "secure, sd 2**20": lambda: secure.rounded_gaussian(2.0**20, DRAWS),
        "secure, sd 2**33": lambda: secure.rounded_gaussian(2.0**33, DRAWS),
        "PCG64, sd 2**33": lambda: seeded.rounded_gaussian(2.0**33, DRAWS),
        "secure, sd 2**33, symmetric matrix": lambda: symmetric_noise(secure, 2.0**33),
    }
    limit = None
    for sampler, function in cases.items():
        with mock.patch.object(discrete, "_settle", wraps=discrete._settle) as settle:
            seconds = best_time(function, repeats)
        limit = limit or seconds
        yield {
            "sampler": sampler,
            "draws": DRAWS,
            "seconds": f"{seconds:.4f}",
            "x numpy": f"{seconds / limit:.1f}",
            "settled in mpmath": f"{settle.call_count / repeats:.1f}",
        }


if __name__ == "__main__":
    measure(__doc__, {"noise": Measured(rows, 7)})
