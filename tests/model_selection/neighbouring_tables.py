"""Tables of neighbours, and scorers with noise far below their bounds."""

import numpy as np

from skdppca.noise import NoiseSource
from skdppca.privacy import PrivacyFilter
from skdppca.private_data import PrivateData, Public
from skdppca.records import Records

D = 5


def held(rows, adjacency, groups=None, **more):
    """The records, with a budget beyond all questions."""
    return PrivateData(
        source=Records.of(rows, groups),
        public=Public(D, adjacency, "row" if groups is None else "user", n_records=50),
        budget=PrivacyFilter(1e9),
        noise=NoiseSource(0),
        **more,
    )


def pairs_of_tables(adjacency, grouped):
    """60 pairs of neighbours, some of them extreme: rows and labels of each, and axes."""
    rng, size = np.random.default_rng(1), 4 if grouped else 1
    for trial in range(60):
        rows = rng.normal(size=(50, size, D)) * 10.0 ** rng.integers(-3, 9)
        other = rows.copy()
        other[-1] = rng.normal(size=(size, D)) * 10.0 ** rng.integers(-3, 200)
        if trial % 2:
            other[-1], rows[-1] = np.eye(D)[0] * 1e7, np.eye(D)[1] * 1e7
        pair = [rows, other] if adjacency == "replace-one" else [rows, rows[:-1]]
        labels = [np.repeat(np.arange(len(data)), size) if grouped else None for data in pair]
        tables = [data.reshape(-1, D) for data in pair]
        yield [*zip(tables, labels, strict=True)], np.eye(D)[: 1 + trial % 3]
