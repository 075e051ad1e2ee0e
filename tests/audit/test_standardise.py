"""Private standardisation asks all its questions of rows of all kinds, and shows the answers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from skdppca import DPGauss

from .audit import ADJACENCIES, Pair, build, mostly_slow
from .cases import BASES, CORNER, UNTOLD, neighbours
from .replay import Data, audit


def test_every_question_is_asked_somewhere():
    names = set()
    for base in BASES.values():
        game = build(UNTOLD["DPGauss, private scales"](), 20.0)
        pair = neighbours(base, CORNER, CORNER)["add-remove"]
        names |= {query.name for query in Pair(game, *pair, True, 0).actual.queries}
    assert {"octaves", "closer cells", "mean squares"} < names


def rows_of_all_kinds(grouped):
    """Records with a far, a rare, a constant, a heavy-tailed and a tiny feature."""
    rng = np.random.default_rng(3)
    n = 200
    X = np.column_stack(
        [
            300 + rng.normal(size=n),
            rng.random(n) < 0.1,
            np.full(n, 7.0),
            rng.standard_cauchy(n),
            1e-9 * rng.normal(size=n),
        ]
    )
    sizes = rng.integers(1, 4, n) if grouped else np.ones(n, int)
    return [np.repeat(x[None, :], m, axis=0) for x, m in zip(X, sizes, strict=True)]


@mostly_slow(
    "kind, adjacency",
    ["dense", "float32", "csr", "csr in parts", "groups", "csr groups"],
    ADJACENCIES,
    quick=[("dense", "replace-one"), ("csr groups", "add-remove")],
)
def test_a_fit_is_a_function_of_its_answers(kind, adjacency):
    grouped = "groups" in kind
    others = rows_of_all_kinds(grouped)
    extremes = [np.zeros(5), np.full(5, -1.7e308), np.array([301, 1, 5e-324, -1e160, 1e-9])]
    odds = [*np.array(extremes)[:, None, :], others[0] * (1 + 2**-52)]
    if grouped:
        odds += [np.repeat(odds[2], 60, axis=0), np.vstack([odds[0], 1e3 * np.eye(5)])]
    container = kind.removesuffix("groups").strip() or "dense"
    first = Data(others, None if adjacency == "add-remove" else odds[-1], container, grouped)
    told = {"unit": "person"} if grouped else {}

    def fit(X, groups):
        pca = DPGauss(2, epsilon=60.0, adjacency=adjacency, random_state=0, scale="private", **told)
        return pca.fit(X, groups=groups)

    run = audit(fit, first, [replace(first, odd=odd) for odd in odds])
    names = {query.name for query in run.queries}
    assert {"octaves", "closer cells", "mean squares"} < names
