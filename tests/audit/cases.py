"""Estimators on two data sets that differ in a record, as far apart as the proof allows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from skdppca import (
    GDPPCA,
    KDPPCA,
    DPGauss,
    DPPowerMethod,
    KDPOjas,
    ResidualGauss,
)
from skdppca.decomposition import gdppca
from skdppca.decomposition.dp_gauss import JoinedMechanism, NextCohort
from skdppca.decomposition.iterative import oracles
from skdppca.mechanisms import centre
from skdppca.mechanisms.scatter import NoisyScatter

from ..private_data_of import hidden
from .audit import ADJACENCIES, Audited, build

RADIUS, FAR = 3.0, 1e4
RIGHT, UP = np.eye(2)[:1], np.eye(2)[1:]
NONE, ALONG = np.zeros((20, 2)), np.tile(RADIUS * RIGHT, (20, 1))
# Records on a line, far from each other.
LINE = np.outer(np.arange(20) * 100.0, RIGHT)
# Two whose products with the first direction point to opposite sides; and two that are orthogonal.
ABOVE, BELOW = FAR * (UP + RIGHT / 20), FAR * (RIGHT / 20 - UP)

Arrays = tuple[np.ndarray, np.ndarray]
Patches = tuple[tuple[Any, str, Any], ...]


def neighbours(base: np.ndarray, one: np.ndarray, other: np.ndarray) -> dict[str, Arrays]:
    """One record more, or in the place of another one."""
    with_record = np.vstack([base, one])
    return {
        "add-remove": (base, with_record),
        "replace-one": (np.vstack([base, other]), with_record),
    }


@dataclass(frozen=True)
class Case:
    """An estimator, and neighbours of which the answers tell almost all of mu.

    Parameters
    ----------
    make : callable
        The estimator, by its adjacency.
    pairs : dict
        By adjacency, data without a record and with it.
    least : tuple of float
        The share of mu that a path tells at least, by adjacency.
    runs : dict
        How many runs a side a game has, by mu.
    shown : float
        The share of mu that a game proves at least, where a path tells nearly all.
    mus : tuple of float
        At which paths are looked at.
    patches : tuple
        Constants by which the method goes the way that is audited.
    change : callable
        Of what is built, before it is audited.
    released : str
        A detail that tells that it went that way.
    """

    make: Callable[..., Any]
    pairs: dict[str, Arrays]
    least: tuple[float, ...] = (0.93, 0.93)
    runs: dict[float, int] = field(default_factory=dict)
    shown: float = 0.6
    mus: tuple[float, ...] = (2.0,)
    patches: Patches = ()
    change: Callable[[Audited], Audited] = lambda game: game
    released: str = ""

    @property
    def alone(self) -> Case:
        """Keep the neighbours with one record more only."""
        return replace(self, pairs={"add-remove": self.pairs["add-remove"]})

    def share(self, adjacency: str) -> float:
        """Return the share of mu that a path shows at least."""
        return dict(zip(ADJACENCIES, self.least, strict=True))[adjacency]

    def game(self, mu: float, adjacency: str, monkeypatch: pytest.MonkeyPatch) -> Audited:
        """Build what is audited; the patches stay."""
        for patch in self.patches:
            monkeypatch.setattr(*patch)
        made = self.make(adjacency=adjacency)
        return self.change(build(made, mu, *self.pairs[adjacency][1].shape))


def maker(estimator: Callable[..., Any], k: int = 1, **parameters: Any) -> Callable[..., Any]:
    """Return a function of the adjacency that makes the estimator."""
    return lambda adjacency="add-remove": estimator(k, adjacency=adjacency, **parameters)


# DPGauss: records at 0 and one far away; for another one, in other cells of all histograms.
AWAY = neighbours(NONE, 10 * RADIUS * RIGHT, 1e7 * UP)
OF_GAUSS = {"pairs": AWAY, "runs": {2.0: 500, 3.0: 500}, "mus": (2.0, 20.0)}
GAUSS = {
    "DPGauss, bounded, about 0": {"norm_bound": RADIUS, "center": False},
    "DPGauss, bounded": {"norm_bound": RADIUS},
    "DPGauss": {},
    "DPGauss, spherical": {"clip": "spherical"},
}

FAR_IN_20 = neighbours(np.zeros((20, 20)), 30 * np.eye(20)[:1], 30 * np.eye(20)[1:2])
NESTED = {
    "pairs": FAR_IN_20,
    "least": (0.85, 0.85),
    "runs": {2.0: 400, 3.0: 400},
    "shown": 0.55,
    "mus": (1.0, 2.0),
    "released": "subspaces",
}

# The second cohort by itself, about released numbers of the first.
BEFORE = NoisyScatter.of_cohort(
    np.diag([60.0, 20.0]),
    5.0,
    np.zeros(2),
    n_rows=20.0,
    n_records=20.0,
    radius=RADIUS,
    distance=RADIUS,
    units=np.ones(2),
    present=np.ones(2),
)


def second_cohort(game: Audited) -> Audited:
    reader = replace(game.method, nested=False)
    return replace(game, method=JoinedMechanism(reader, NextCohort(reader, BEFORE), BEFORE, 1.0))


# The methods that iterate. At that rate the directions stay where they start, so that every step is
# asked the worst; and there are as many as components: one more is all of the plane.
TOLD = {"center": False, "norm_bound": RADIUS, "variance_share": 0.0}
SLOW = {**TOLD, "n_iter": 2, "learning_rate": 1e-4}
DEFLATED = {**TOLD, "strategy": "deflation", "n_iter": 1}
SPLIT = {"sampling": "split"}
STAYS = ((oracles, "ITERATION", replace(oracles.ITERATION, oversampling=0)),)
ITERATIVE = {
    "least": (0.98, 0.98),
    "runs": {2.0: 600, 3.0: 400},
    "patches": STAYS,
}
OPPOSITE = ITERATIVE | {"pairs": neighbours(NONE, ABOVE, BELOW)}
# In the plane a second direction leaves no opposite sides.
SECOND = OPPOSITE | {"least": (0.98, 0.7)}
# Where nothing clips them, sums are to stay within the 2^61 steps of the grid that a release holds.
# Of the Gram matrices, which this method sees too, those of opposite records are much the same; and
# it sees all it needs for a correction in 500 equal records.
ONE, OTHER = FAR / 10 * (RIGHT + UP), FAR / 10 * (RIGHT - UP)
BOTH_SIDES = ITERATIVE | {"least": (0.98, 0.75)}

# Where no centre is seen, differences of pairs. The rows lie on a line; one more that lies far on
# another moves all that is asked by all that it may. Exchanged, it moves the mean direction less.
SHORT_LINE = np.column_stack([1 + np.linspace(-1e-3, 1e-3, 20), np.zeros(20)])
UNSEEN = replace(centre.UNSURE, least_visible=0.0, off=-math.inf, sds=-math.inf)
UNSEEN_CENTRE = (
    *STAYS,
    (centre, "seen_norms", hidden),
    (centre, "UNSURE", UNSEEN),
)

# Orthogonal records; a user of both items, and one that has lost the second: the least degree.
ONE_PASS = {"n_iter": 1, "oversampling": 0, "center": False, "variance_share": 0.0}
OF_POWER = {"runs": {2.0: 150, 3.0: 100}, "shown": 0.0}
ACROSS = OF_POWER | {"pairs": neighbours(ALONG, FAR * RIGHT, FAR * UP)}
# One direction alone sees at most one of two orthogonal rows.
HALF_SEEN = ACROSS | {"least": (0.93, 0.69)}
ITEMS = {"add-remove": (np.vstack([ALONG, 0 * RIGHT]), np.vstack([ALONG, RIGHT]))}


# Pairs: others on a line and one beside it; or others all alike, and one on either of two lines.
def saturating(t: np.ndarray) -> np.ndarray:
    """Long differences get all of the bound."""
    return 3.0 * np.tanh(t)


OWN = {"kernel": saturating, "kernel_bound": 3.0}
BESIDE = {
    "add-remove": (LINE, np.vstack([LINE, 1e7 * UP])),
    "replace-one": (np.vstack([NONE, 1e7 * RIGHT]), np.vstack([NONE, 1e7 * UP])),
}
KENDALL = {"mean": np.zeros(2), "variance_share": 0.0}
OF_PAIRS = {"pairs": BESIDE, "least": (0.97, 0.97), "shown": 0.45}
# The slowest post-processing is left out.
PLAYED = OF_PAIRS | {
    "runs": {2.0: 200, 3.0: 150},
    "patches": ((gdppca, "kendall_shares", lambda *_: np.full(2, 0.5)),),
}
WINSORIZED = {**KENDALL, "kernel": "winsorized", "norm_bound": RADIUS}

# With replace-one the medians' searches show all of theirs, but one record is as far from the
# centre as the other is, and is clipped to its opposite.
CORNER = np.full((1, 2), 1e9)
SCALED = {
    "pairs": neighbours(NONE, CORNER, -CORNER),
    "least": (0.97, 0.2),
    "runs": {2.0: 500, 3.0: 400},
    "shown": 0.55,
}

CASES = {
    **{name: Case(maker(DPGauss, 2, **more), **OF_GAUSS) for name, more in GAUSS.items()},
    "second cohort": Case(maker(DPGauss, 2), **OF_GAUSS, change=second_cohort),
    "nested spheres": Case(maker(DPGauss), **NESTED),
    "nested spheres, about 0": Case(maker(DPGauss, center=False), **NESTED | {"runs": {}}),
    "private scales": Case(maker(DPGauss, scale="private", norm_bound=RADIUS), **SCALED),
    "private scale of one feature": Case(
        maker(DPGauss, scale=["private", 2.0], norm_bound=RADIUS), **SCALED
    ),
    "KDPPCA, block": Case(maker(KDPPCA, **SLOW), **OPPOSITE),
    "KDPPCA, block, split": Case(maker(KDPPCA, **SLOW, **SPLIT), **OPPOSITE),
    "KDPPCA, deflation": Case(maker(KDPPCA, 2, **DEFLATED), **SECOND),
    "KDPPCA, deflation, split": Case(maker(KDPPCA, 2, **DEFLATED, **SPLIT), **OPPOSITE),
    "KDPOjas": Case(maker(KDPOjas, **SLOW), **OPPOSITE),
    "KDPOjas, split": Case(maker(KDPOjas, **SLOW, **SPLIT), **OPPOSITE),
    "KDPOjas, deflation": Case(maker(KDPOjas, 2, **DEFLATED), **SECOND),
    "ResidualGauss": Case(
        maker(ResidualGauss, **TOLD, n_iter=2), neighbours(ALONG, ONE, OTHER), **BOTH_SIDES
    ),
    "ResidualGauss, correcting": Case(
        maker(ResidualGauss, **{**TOLD, "norm_bound": None}, n_iter=2),
        neighbours(np.tile(ALONG[:1], (500, 1)), ONE, OTHER),
        **BOTH_SIDES,
    ),
    "ResidualGauss, unseen centre": Case(
        maker(ResidualGauss, variance_share=0.0),
        neighbours(SHORT_LINE, FAR * UP, 9 * FAR * RIGHT),
        least=(0.95, 0.95),
        runs={2.0: 600},
        patches=UNSEEN_CENTRE,
    ),
    "DPPowerMethod": Case(
        maker(DPPowerMethod, **ONE_PASS), neighbours(ALONG, ABOVE, BELOW), **OF_POWER
    ),
    "DPPowerMethod, bounded": Case(
        maker(DPPowerMethod, **ONE_PASS, norm_bound=RADIUS), **HALF_SEEN
    ),
    "DPPowerMethod, all directions": Case(
        maker(DPPowerMethod, **ONE_PASS | {"n_iter": 3, "oversampling": 1}, norm_bound=RADIUS),
        **ACROSS | {"runs": {2.0: 800, 3.0: 100}},
    ),
    "DPPowerMethod, spherical": Case(
        maker(DPPowerMethod, **ONE_PASS, clip="spherical"), **HALF_SEEN
    ),
    "DPPowerMethod, interactions": Case(
        maker(DPPowerMethod, **ONE_PASS | {"oversampling": 1}, protect="interaction"),
        ITEMS,
        **OF_POWER,
    ),
    "GDPPCA": Case(maker(GDPPCA, **KENDALL), **PLAYED),
    "GDPPCA, incomplete": Case(maker(GDPPCA, **KENDALL, pairs="incomplete", n_pairs=6), **PLAYED),
    "GDPPCA, winsorized": Case(maker(GDPPCA, **WINSORIZED), **OF_PAIRS),
    "GDPPCA, winsorized, incomplete": Case(
        maker(GDPPCA, **WINSORIZED, pairs="incomplete"), **OF_PAIRS
    ),
    "GDPPCA, own kernel": Case(maker(GDPPCA, **KENDALL, **OWN), **OF_PAIRS),
    "GDPPCA, own kernel, incomplete": Case(
        maker(GDPPCA, **KENDALL, **OWN, pairs="incomplete"), **OF_PAIRS
    ),
    "GDPPCA, private centre": Case(maker(GDPPCA, **KENDALL, centering="private"), **PLAYED),
}
# Here a record tells all only if it draws the part that finds the first direction.
BY_CHANCE = ("KDPPCA, deflation, split", "replace-one")
SIDES = [(name, adjacency) for name, case in CASES.items() for adjacency in case.pairs]
on_all_cases = pytest.mark.parametrize(("name", "adjacency"), SIDES)

# Fits that find out by themselves what the cases above are told.
UNTOLD = {
    "KDPPCA": maker(KDPPCA),
    "KDPPCA, all components": maker(KDPPCA, 2),
    "KDPPCA, split": maker(KDPPCA, **SPLIT),
    "KDPPCA, deflation": maker(KDPPCA, 2, strategy="deflation", n_iter=2),
    "KDPPCA, deflation, split": maker(KDPPCA, 2, strategy="deflation", n_iter=2, **SPLIT),
    "KDPOjas": maker(KDPOjas, n_iter=3),
    "KDPOjas, deflation, split": maker(KDPOjas, 2, strategy="deflation", n_iter=3, **SPLIT),
    "ResidualGauss": maker(ResidualGauss),
    "DPPowerMethod": maker(DPPowerMethod),
    "DPPowerMethod, one pass": maker(DPPowerMethod, n_iter=1),
    "DPPowerMethod, norm": maker(DPPowerMethod, clip="norm"),
    "DPPowerMethod, spherical": maker(DPPowerMethod, clip="spherical"),
    "DPPowerMethod, half for a start": maker(DPPowerMethod, oversampling=0, budget_ratio=1.0),
    "GDPPCA": maker(GDPPCA),
    # More pairs than there are records too: every record meets each other one several times.
    "GDPPCA, incomplete": maker(GDPPCA, pairs="incomplete", n_pairs=50),
    "GDPPCA, winsorized": maker(GDPPCA, kernel="winsorized"),
    "GDPPCA, own kernel": maker(GDPPCA, **OWN),
    "GDPPCA, private centre": maker(GDPPCA, centering="private"),
    "GDPPCA, winsorized, private centre": maker(GDPPCA, centering="private", kernel="winsorized"),
    **{
        f"{name}, private scales": maker(factory, scale="private", **parameters)
        for name, factory, parameters in (
            ("DPGauss", DPGauss, {}),
            ("DPGauss, about 0", DPGauss, {"center": False}),
            ("KDPPCA", KDPPCA, {"n_iter": 2}),
            ("KDPPCA, split", KDPPCA, {"n_iter": 2, **SPLIT}),
            ("ResidualGauss", ResidualGauss, {"n_iter": 1}),
            ("GDPPCA", GDPPCA, {}),
            ("DPPowerMethod", DPPowerMethod, {"n_iter": 2}),
        )
    },
}
RNG = np.random.default_rng(0)
# Features of two values, constant, far from 0, heavy-tailed: so that every question is asked.
BASES = {
    "normal": RNG.normal(size=(20, 2)),
    "zeros": NONE,
    "along": ALONG,
    "line": LINE,
    "none": NONE[:0],
    "one": NONE[:1],
    "far": RNG.normal([0.0, 300.0], size=(300, 2)),
    "two values": np.column_stack([np.arange(300) % 10 == 0, 5.0 + (np.arange(300) % 2)]),
    "heavy": np.column_stack([RNG.standard_cauchy(300), np.full(300, 7.0)]),
}
ODD = [
    (ABOVE, BELOW),
    (CORNER, -CORNER),
    (1e7 * UP, 1e7 * RIGHT),
    (np.array([[1e300, -1e300]]), 0 * UP),
    (ONE, OTHER),
    (ABOVE, 0 * UP),
    (np.array([[1e-3, 301.0]]), CORNER),
    (1e300 * UP, 1e7 * UP),
]
