"""Tables that no constant of the package was tuned on: real ones, and drawn ones from fixed seeds.

Every table is the same on every call. Scalings are by numbers that are taken as public.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from sklearn import datasets

SEED = 910_000


def drawn(table: Callable[[np.random.Generator], np.ndarray]) -> Callable[[], np.ndarray]:
    """A table from a seed of its own, which follows from its name."""
    return lambda: table(np.random.default_rng([SEED, *table.__name__.encode()]))


def scaled(X: np.ndarray) -> np.ndarray:
    """Every column over its standard deviation, as if that were public; the mean is not told."""
    return X / X.std(axis=0)


def patches(picture: str, side: int, colours: bool) -> np.ndarray:
    """Squares of a photograph, side by side, in whole colours or in grey; 0 to 1."""
    pixels = datasets.load_sample_image(picture) / 255.0
    if not colours:
        pixels = pixels.mean(axis=2, keepdims=True)
    height, width = (size // side for size in pixels.shape[:2])
    cut = pixels[: height * side, : width * side].reshape(height, side, width, side, -1)
    return cut.swapaxes(1, 2).reshape(height * width, -1)


def low_rank_counts(rng: np.random.Generator) -> np.ndarray:
    """Poisson counts with log rates of rank 4 about uneven column means."""
    logs = rng.normal(0.5, 1.0, 60) + rng.normal(size=(3000, 4)) @ rng.normal(0, 0.35, (4, 60))
    return rng.poisson(np.exp(np.minimum(logs, 6.0))).astype(float)


def many_counts(rng: np.random.Generator) -> np.ndarray:
    """Counts of small rates, of rank 2, with visits of gamma-distributed length."""
    logs = rng.normal(-1.0, 0.7, 30) + rng.normal(size=(10_000, 2)) @ rng.normal(0, 0.5, (2, 30))
    return rng.poisson(np.exp(logs) * rng.gamma(3.0, 1 / 3, (10_000, 1))).astype(float)


def documents(rng: np.random.Generator) -> np.ndarray:
    """Words of 6 topics, Zipf in frequency; lengths are lognormal about 40."""
    n, d, topics = 5000, 200, 6
    words = rng.gamma(0.2, size=(topics, d)) / np.arange(1, d + 1)
    words /= words.sum(axis=1, keepdims=True)
    shares = rng.dirichlet(np.full(topics, 0.15), n)
    lengths = rng.lognormal(np.log(40), 0.6, n).astype(int)
    return np.array(
        [rng.multinomial(m, share @ words) for m, share in zip(lengths, shares, strict=True)]
    ).astype(float)


def rare_events(rng: np.random.Generator) -> np.ndarray:
    """Codes of 3 conditions, most of them rare: 95 % of the entries are 0."""
    rates = rng.gamma(0.3, size=(3, 120)) / np.arange(1, 121) ** 0.7
    has = rng.random((6000, 3)) < [0.5, 0.2, 0.1]
    activity = rng.gamma(1.0, size=(6000, 3))
    return rng.poisson(has * activity @ rates + 0.01).astype(float)


def sparse_counts(rng: np.random.Generator) -> np.ndarray:
    """Small counts, most of a row's from one of two kinds of visit, whose lengths are skewed."""
    rates = rng.dirichlet(np.full(100, 0.3), 2)
    lengths = rng.lognormal(1.0, 1.0, (5000, 1))
    return rng.poisson(lengths * rates[(rng.random(5000) < 0.3).astype(int)]).astype(float)


def one_hot(rng: np.random.Generator) -> np.ndarray:
    """Twelve categories of five levels, one-hot, that follow one of four types."""
    of_row = rng.choice(4, 4000, p=[0.4, 0.3, 0.2, 0.1])
    shares = rng.dirichlet(np.full(5, 0.7), (12, 4))
    levels = [
        (rng.random((4000, 1)) > share[of_row].cumsum(axis=1)).sum(axis=1) for share in shares
    ]
    return np.hstack([np.eye(5)[np.minimum(level, 4)] for level in levels])


def one_hot_with_numbers(rng: np.random.Generator) -> np.ndarray:
    """Six categories one-hot, with shares of Zipf's law, and 8 numbers that follow them."""
    n = 4000
    blocks, effect = [], np.zeros((n, 8))
    for levels in (2, 3, 4, 6, 8, 12):
        share = 1 / np.arange(1, levels + 1)
        found = np.eye(levels)[rng.choice(levels, n, p=share / share.sum())]
        blocks.append(found)
        effect += found @ rng.normal(0, 0.7, (levels, 8))
    return np.hstack([*blocks, effect + rng.normal(size=(n, 8)) @ rng.normal(0, 0.5, (8, 8))])


def questionnaire(rng: np.random.Generator) -> np.ndarray:
    """40 answers from 1 to 5, cut from 3 factors."""
    latent = rng.normal(size=(2000, 3)) @ rng.normal(0, 0.8, (3, 40))
    answers = np.round(rng.normal(3.2, 0.6, 40) + latent + rng.normal(size=(2000, 40)))
    return np.clip(answers, 1, 5)


def lognormal(rng: np.random.Generator) -> np.ndarray:
    """The exponential of correlated normals."""
    logs = rng.normal(size=(3000, 5)) @ rng.normal(0, 0.3, (5, 40))
    return np.exp(logs + rng.normal(0, 0.4, (3000, 40)))


def long_lognormal(rng: np.random.Generator) -> np.ndarray:
    """As `lognormal` with log-scales about 1: amounts of money."""
    logs = rng.normal(size=(8000, 3)) @ rng.normal(0, 0.5, (3, 25))
    return np.exp(logs + rng.normal(0, 0.7, (8000, 25)))


def clusters(rng: np.random.Generator) -> np.ndarray:
    """Ten clusters of uneven size in 30 columns, 20 off the origin."""
    centres = rng.normal(0, 2.0, (10, 30))
    of_row = rng.choice(10, 5000, p=rng.dirichlet(np.full(10, 2.0)))
    return 20 + centres[of_row] + rng.normal(size=(5000, 30))


def tight_clusters(rng: np.random.Generator) -> np.ndarray:
    """Six clusters far narrower than they are apart: rows near a space of 5 dimensions."""
    centres = rng.normal(0, 3.0, (6, 60))
    return 5 + centres[rng.integers(6, size=3000)] + rng.normal(0, 0.1, (3000, 60))


def two_clusters(rng: np.random.Generator) -> np.ndarray:
    """A small tight cluster, far from a wide one."""
    wide = rng.normal(0, 1.0, (1700, 100)) * np.linspace(1.5, 0.3, 100)
    return np.vstack([wide, rng.normal(0, 0.3, (300, 100)) + rng.normal(0, 1.0, 100)])


def turned(rng: np.random.Generator, n: int, d: int, power: float, offset: float) -> np.ndarray:
    """Variances that fall so, in axes of no direction's own."""
    axes = np.linalg.qr(rng.normal(size=(d, d)))[0]
    return rng.normal(size=(n, d)) * np.arange(1, d + 1) ** (-power / 2) @ axes + offset


def power_law(rng: np.random.Generator) -> np.ndarray:
    """Variances 1 / i."""
    return turned(rng, 2000, 100, 1.0, 3.0)


def steep_power_law(rng: np.random.Generator) -> np.ndarray:
    """Variances 1 / i^2."""
    return turned(rng, 6000, 150, 2.0, -1.0)


def student(rng: np.random.Generator, n: int, d: int, offset: float) -> np.ndarray:
    """Elliptical t of 3 degrees of freedom."""
    mixed = rng.normal(size=(n, d)) * np.arange(1, d + 1) ** -0.75
    return offset + mixed * np.sqrt(3 / rng.chisquare(3, (n, 1)))


def heavy_tails(rng: np.random.Generator) -> np.ndarray:
    return student(rng, 4000, 25, 2.0)


def factors(rng: np.random.Generator) -> np.ndarray:
    """Five factors in noise, in 13 columns."""
    return rng.normal(size=(1500, 5)) @ rng.normal(size=(5, 13)) + rng.normal(size=(1500, 13))


def spikes(rng: np.random.Generator) -> np.ndarray:
    """Four directions above white noise in 200 columns."""
    axes = np.linalg.qr(rng.normal(size=(200, 4)))[0].T
    strong = rng.normal(size=(10_000, 4)) * np.sqrt([30.0, 20.0, 12.0, 8.0])
    return strong @ axes + rng.normal(size=(10_000, 200))


def waves(rng: np.random.Generator) -> np.ndarray:
    """Curves of 80 points: three harmonics with random phase, drift and noise."""
    t = np.linspace(0, 1, 80)
    phase = rng.uniform(0, 2 * np.pi, (2500, 3, 1))
    size = rng.gamma(4.0, 0.25, (2500, 3, 1)) / np.arange(1, 4)[:, None]
    curves = (size * np.sin(2 * np.pi * np.arange(1, 4)[:, None] * t + phase)).sum(axis=1)
    return 5 + curves + rng.normal(size=(2500, 1)) * t + rng.normal(0, 0.2, (2500, 80))


TABLES: dict[str, Callable[[], np.ndarray]] = {
    "wine, raw": lambda: datasets.load_wine().data,
    "wine, scaled": lambda: scaled(datasets.load_wine().data),
    "breast cancer, raw": lambda: datasets.load_breast_cancer().data,
    "breast cancer, log": lambda: np.log1p(datasets.load_breast_cancer().data),
    "breast cancer, scaled": lambda: scaled(datasets.load_breast_cancer().data),
    "diabetes, raw": lambda: datasets.load_diabetes(scaled=False).data,
    "digits": lambda: datasets.load_digits().data,
    "grey patches": lambda: patches("china.jpg", 8, colours=False),
    "colour patches": lambda: patches("flower.jpg", 6, colours=True),
    "counts, rank 4": drawn(low_rank_counts),
    "counts, many": drawn(many_counts),
    "documents": drawn(documents),
    "rare events": drawn(rare_events),
    "sparse counts": drawn(sparse_counts),
    "one-hot": drawn(one_hot),
    "one-hot and numbers": drawn(one_hot_with_numbers),
    "questionnaire": drawn(questionnaire),
    "lognormal": drawn(lognormal),
    "lognormal, long": drawn(long_lognormal),
    "ten clusters": drawn(clusters),
    "tight clusters": drawn(tight_clusters),
    "two clusters": drawn(two_clusters),
    "power law 1": drawn(power_law),
    "power law 2": drawn(steep_power_law),
    "t, 3 df": drawn(heavy_tails),
    "factors": drawn(factors),
    "spikes": drawn(spikes),
    "waves": drawn(waves),
}


@lru_cache(maxsize=2)
def table(name: str) -> tuple[np.ndarray, np.ndarray]:
    """The rows, and their covariance about their mean."""
    X = np.ascontiguousarray(TABLES[name](), dtype=np.float64)
    return X, np.cov(X.T)


# Small and awkward: drawn anew for every fit -> rows for a seed, k.
def far_rows(seed: int) -> np.ndarray:
    """200 x 20, 9 standard deviations of a column from the origin in every column."""
    spread = np.sqrt(np.arange(1, 21) ** -1.0)
    return (np.random.default_rng([SEED, 1, seed]).normal(size=(200, 20)) + 9) * spread


def law_rows(n: int, d: int, exponent: float, offset: float) -> Callable[[int], np.ndarray]:
    spread = np.arange(1, d + 1) ** (-exponent / 2)
    return lambda seed: (
        np.random.default_rng([SEED, n, d, seed]).normal(size=(n, d)) * spread + offset
    )


def few_counts(seed: int) -> np.ndarray:
    rng = np.random.default_rng([SEED, 2, seed])
    logs = 1.0 + rng.normal(size=(600, 2)) @ np.random.default_rng(SEED).normal(0, 0.4, (2, 40))
    return rng.poisson(np.exp(logs)).astype(float)


def few_heavy(seed: int) -> np.ndarray:
    return student(np.random.default_rng([SEED, 3, seed]), 1000, 30, 1.0)


TAILS: dict[str, tuple[Callable[[int], np.ndarray], int]] = {
    "wine 178 x 13": (lambda seed: datasets.load_wine().data, 2),
    "wine, scaled 178 x 13": (lambda seed: scaled(datasets.load_wine().data), 2),
    "power law 150 x 10": (law_rows(150, 10, 1.5, 2.0), 2),
    "9 sd away 200 x 20": (far_rows, 2),
    "power law 300 x 20": (law_rows(300, 20, 1.5, 3.0), 2),
    "diabetes 442 x 10": (lambda seed: datasets.load_diabetes(scaled=False).data, 2),
    "counts 600 x 40": (few_counts, 2),
    "power law 1000 x 30": (law_rows(1000, 30, 1.5, 5.0), 3),
    "t, 3 df 1000 x 30": (few_heavy, 2),
    "power law 3000 x 50": (law_rows(3000, 50, 1.5, 5.0), 2),
}
