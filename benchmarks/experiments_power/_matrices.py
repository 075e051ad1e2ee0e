"""The matrices of users and items: saved ones, and a generated one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy import sparse

# name -> file in the folder that is given, and the public degree floors that are tried
SAVED = {
    "MSWeb": ("msweb_32710x285_binary_csr.npz", (1, 3)),
    "Jester5k": ("jester5k_5000x100_binary_csr.npz", (1, 36)),
}
GENERATED, FLOORS = "power law", (1, 5)


def load(name: str, folder: Path | None) -> sparse.csr_array | None:
    """Zeros and ones, users x items; None without the file."""
    if name == GENERATED:
        return power_law()
    path = None if folder is None else folder / SAVED[name][0]
    if path is None or not path.exists():
        return None
    return sparse.csr_array(sparse.load_npz(path), dtype=np.float64)


def power_law(
    n_users: int = 20_000, n_items: int = 500, n_topics: int = 40, seed: int = 0
) -> sparse.csr_array:
    """Users of geometric degrees (mean 20) draw items of a topic, or any, by popularity j^-0.8."""
    rng = np.random.default_rng(seed)
    popularity = np.arange(1, n_items + 1.0) ** -0.8
    topic_of_item = rng.integers(n_topics, size=n_items)
    degrees = np.minimum(rng.geometric(1 / 20, n_users), n_items // 4)
    topic = rng.choice(n_topics, n_users, p=_shares(1 / np.arange(1, n_topics + 1)))
    rows = np.repeat(np.arange(n_users), degrees)
    items = rng.choice(n_items, len(rows), p=_shares(popularity))
    own = rng.random(len(rows)) < 0.6
    for t in range(n_topics):
        mine = own & (topic[rows] == t)
        weights = popularity * (topic_of_item == t)
        if weights.any():
            items[mine] = rng.choice(n_items, mine.sum(), p=_shares(weights))
    X = sparse.csr_array((np.ones(len(rows)), (rows, items)), shape=(n_users, n_items))
    X.data[:] = 1.0
    return X


def _shares(weights: np.ndarray) -> np.ndarray:
    return weights / weights.sum()


def topics(
    n: int = 100_000, d: int = 10_000, length: int = 50, n_topics: int = 5, seed: int = 0
) -> sparse.csr_array:
    """Rows of zeros and ones: at most `length` draws, 60 % within one of a few topics."""
    rng = np.random.default_rng(seed)
    popularity = rng.permutation(np.arange(1, d + 1.0) ** -0.8)
    topic_of_feature = rng.integers(n_topics, size=d)
    topic = rng.choice(n_topics, n, p=_shares(np.arange(n_topics, 0, -1.0)))
    columns = np.empty((n, length), np.int32)
    own = int(0.6 * length)
    for t in range(n_topics):
        theirs = np.flatnonzero(topic == t)
        weights = popularity * (topic_of_feature == t)
        columns[theirs, :own] = rng.choice(d, (len(theirs), own), p=_shares(weights))
    columns[:, own:] = rng.choice(d, (n, length - own), p=_shares(popularity))
    indptr = np.arange(0, n * length + 1, length)
    X = sparse.csr_array((np.ones(n * length), columns.ravel(), indptr), shape=(n, d))
    X.sum_duplicates()
    X.data[:] = 1.0
    return X
