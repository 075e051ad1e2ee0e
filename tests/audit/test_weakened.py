"""Copies of the methods with a fault put in are convicted, by a path or by a number they release.

The mu of a path is exact, and no experiment. In the games every bound holds with probability at
least 1 - 1e-4 (two signs, two rates); the seeds are fixed, so each test passes or fails for good.
The weakened copies leak by sqrt2 or more.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest

from skdppca import GDPPCA, KDPPCA
from skdppca.decomposition import dp_gauss, dp_power, gdppca
from skdppca.decomposition.dp_gauss import DPGaussMechanism
from skdppca.decomposition.gdppca import GDPPCAMechanism
from skdppca.decomposition.iterative import subspace
from skdppca.mechanisms import nested_spheres
from skdppca.mechanisms.block_mean import BlockMean
from skdppca.mechanisms.centre import Centred
from skdppca.mechanisms.scales import private_scales
from skdppca.mechanisms.scales.private_scales import exact_scales
from skdppca.privacy import PrivacyFilter
from skdppca.private_data import PrivateData
from skdppca.records import OnesByDegree, Records
from skdppca.records import pairs as pair_sums
from skdppca.records.pairs import Kernel
from skdppca.statistics import KendallMatrix, columns, gram, pairs, products

from ..covering import pairwise
from .audit import (
    ADJACENCIES,
    Pair,
    bounds,
    mostly_slow,
    number_bound,
    on_both_adjacencies,
    weaken_noise,
)
from .cases import (
    ABOVE,
    ALONG,
    BASES,
    BELOW,
    CASES,
    CORNER,
    KENDALL,
    LINE,
    NONE,
    RADIUS,
    RIGHT,
    TOLD,
    UNTOLD,
    UP,
    WINSORIZED,
    Case,
    Patches,
    maker,
    neighbours,
)

ALPHA = 1e-4
RUNS = 4000


def unclipped(norms, *_):
    return np.ones_like(norms)


def at_most_the_longest(t):
    """One record's length reaches all pairs: refused, were it tried."""
    return t / t.max()


def disjoint(rows, order, direction=None, centre=None):
    rows = rows[order]
    differences = rows[1::2] - rows[: len(rows) // 2 * 2 : 2]
    return np.abs(differences @ direction) / math.sqrt(2)


def own_kernels(kernel, bound, **more):
    """Cases of all pairs and of some."""
    own = {**KENDALL, "kernel": kernel, "kernel_bound": bound}
    ways = ("complete", "incomplete")
    return tuple(Case(maker(GDPPCA, **own, pairs=way), PAIRS.pairs, **more) for way in ways)


@dataclass(frozen=True)
class Fault:
    """What is changed in a case, and what a path then tells at least.

    Parameters
    ----------
    cases : tuple of str or Case
    patches : tuple
    mu : float
        What a path tells more than.
    near : float
        What rows are multiplied by, so that nothing overflows where nothing is clipped.
    paid : float
    """

    cases: tuple[str | Case, ...]
    patches: Patches
    mu: float = 2.0
    near: float = 1.0
    paid: float = 2.0


honest_costs = nested_spheres.sphere_costs


def stages_at_full_cost(data, n_components, mu, *more):
    return honest_costs(data, n_components, mu, *more)[0], mu, 0.0


# So few records show no radius; the default is too small for sums that are not clipped.
NOT_CLIPPED = (
    (products, "clip_weights", unclipped),
    (products, "clipping", unclipped),
    (dp_power, "find_radius", lambda *_, **__: (RADIUS**2, None)),
)
ITERATIVE = [*(name for name in CASES if name.startswith("KDP")), "ResidualGauss, correcting"]
PAIRS = CASES["GDPPCA"]
SCALED = CASES["private scales"].alone
UNCHECKED = ((gdppca, "check_kernel", lambda kernel: None),)
ONE_CENTRE = replace(PAIRS, make=maker(GDPPCA, **WINSORIZED, centering="private"))
TWICE = np.repeat(LINE, 2, axis=0)
ORDERED = Case(
    maker(GDPPCA, mean=np.zeros(2), variance_share=0.3),
    {"add-remove": (TWICE, np.vstack([0 * UP - 50, TWICE]))},
)
FAR_ROWS = Case(UNTOLD["KDPPCA, private scales"], neighbours(BASES["far"], CORNER, CORNER))
ITEMS = CASES["DPPowerMethod, interactions"]
FAULTS = {
    "no clipping, DPGauss": Fault(
        ("DPGauss, bounded, about 0", "DPGauss, bounded"),
        ((gram, "clip_weights", unclipped),),
        20.0,
    ),
    "no clipping, DPPowerMethod": Fault(
        tuple(name for name in CASES if name.startswith("DPPower") and "inter" not in name),
        NOT_CLIPPED,
        1000.0,
    ),
    "no clipping of residuals": Fault(ITERATIVE, ((products, "clip_weights", unclipped),)),
    "no clipping about the centre": Fault(
        (ONE_CENTRE.alone,), ((gram, "clip_weights", unclipped),), near=1e-4
    ),
    "no clipping of squares": Fault(
        (FAR_ROWS.alone,),
        ((columns, "clip_weights", unclipped),),
        21.0,
        paid=20.0,
    ),
    "differences of any length": Fault(
        ("GDPPCA, winsorized", "GDPPCA, winsorized, incomplete"),
        (
            (Kernel, "apply", lambda kernel, differences: differences),
            (Kernel, "weights", lambda kernel, squares, *_: 1.0 * (squares < 1e300)),
        ),
        near=1e-4,
    ),
    "an own kernel that is not clipped": Fault(
        own_kernels(lambda t: 2 * t, 3.0),
        ((pair_sums, "_shares", lambda xi, radius, lengths: xi(lengths) / radius),),
        near=1e-4,
    ),
    "an own kernel that looks at other pairs": Fault(
        tuple(case.alone for case in own_kernels(at_most_the_longest, 1.0, patches=UNCHECKED)),
        (),
        near=1e-4,
    ),
    # (1 + 1 / 4)^(1/2) and 2^(1/2), not 1
    "the sensitivity of a single sum": Fault(
        ("GDPPCA",), ((KendallMatrix, "sensitivity", lambda *_: 1.0),), 2.2
    ),
    # The norm of a record's squares is told by one feature, and bounded for it.
    "no clipping of the squares of one feature": Fault(
        (replace(FAR_ROWS.alone, make=maker(KDPPCA, scale=["private", 2.0])),),
        ((columns, "clip_weights", unclipped),),
        21.0,
        paid=20.0,
    ),
    # Each of d counts moves by 1, but they are released together.
    "the sensitivity of one feature": Fault(
        (SCALED,),
        ((columns, "psd_sum", lambda *_: 1.0),),
        2.1,
    ),
    "a budget that both parts spend": Fault(
        (replace(SCALED, make=UNTOLD["KDPPCA, private scales"]),),
        ((PrivacyFilter, "remaining", property(lambda budget: budget.mu)),),
        2.1,
    ),
    "stages that each cost all": Fault(
        ("nested spheres",),
        (
            (nested_spheres, "sphere_costs", stages_at_full_cost),
            (PrivacyFilter, "remaining", property(lambda budget: budget.mu)),
        ),
        2.4,
    ),
    "a median over disjoint pairs of an order": Fault(
        (ORDERED,),
        (
            (pairs, "adjacent_differences", disjoint),
            (
                Records,
                "shuffled",
                lambda records, noise: replace(records, cycle=np.arange(records.private_n)),
            ),
        ),
    ),
    "interactions that count more than one": Fault(
        (replace(ITEMS, pairs={"add-remove": (ALONG, np.vstack([ALONG, 3 * RIGHT]))}),),
        ((OnesByDegree, "of", lambda change, rows, scale: rows), (products, "clipping", unclipped)),
    ),
}
CONVICTED = [
    pytest.param(fault, case, adjacency, id=f"{name}-{i}-{adjacency}")
    for name, fault in FAULTS.items()
    for i, case in enumerate(CASES[c] if isinstance(c, str) else c for c in fault.cases)
    for adjacency in case.pairs
]


def median_path(fault, case, adjacency, monkeypatch):
    """Return the median mu of a few paths."""
    game = case.game(fault.paid, adjacency, monkeypatch)
    pair = [fault.near * rows for rows in case.pairs[adjacency]]
    with monkeypatch.context() as patched:
        for patch in fault.patches:
            patched.setattr(*patch)
        found = [Pair(game, *pair, True, seed) for seed in range(3)]
    return np.median([one.path_mu for one in found])


@pytest.mark.parametrize(("fault", "case", "adjacency"), CONVICTED)
def test_a_path_shows_the_fault(fault, case, adjacency, monkeypatch):
    assert median_path(fault, case, adjacency, monkeypatch) > fault.mu


@pytest.mark.parametrize(
    ("fault", "case", "adjacency"),
    [param for param in CONVICTED if param.values[0].near < 1 and param.values[0].patches],
)
def test_without_the_fault_rows_that_are_near_tell_what_was_paid(
    fault, case, adjacency, monkeypatch
):
    assert median_path(replace(fault, patches=()), case, adjacency, monkeypatch) <= fault.paid


@pytest.mark.slow
@pytest.mark.parametrize("name", [*ITERATIVE, "DPPowerMethod", "DPPowerMethod, bounded"])
@on_both_adjacencies
def test_a_game_shows_missing_clipping(name, adjacency, monkeypatch):
    for patch in NOT_CLIPPED:
        monkeypatch.setattr(*patch)
    game = CASES[name].game(2.0, adjacency, monkeypatch)
    found = bounds(game, *CASES[name].pairs[adjacency], 250, ALPHA)
    assert found["transcript"] > 2.0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["KDPPCA, block, split", "KDPPCA, deflation, split"])
def test_a_game_shows_parts_by_position(name, monkeypatch):
    def by_position(records, shares, noise):
        n = records.private_n
        labels = np.arange(n) * sum(shares) // n
        part = np.searchsorted(np.cumsum(shares), labels, side="right")
        return [records._subset(part == i) for i in range(len(shares))]

    monkeypatch.setattr(Records, "parts", by_position)
    game = CASES[name].game(2.0, "add-remove", monkeypatch)
    # one record more at the front moves another over the border between the parts
    base = np.vstack([*[ABOVE, BELOW] * 10, ABOVE])
    found = bounds(game, base, np.vstack([BELOW, base]), 250, ALPHA)
    assert found["transcript"] > 2.0


def test_exact_scales_are_caught(monkeypatch):
    """One far record moves the scales, and with them all others: nothing hides that."""
    monkeypatch.setattr(private_scales, "private_scales", exact_scales)
    game = CASES["private scales"].game(2.0, "add-remove", monkeypatch)
    with pytest.raises(AssertionError):
        pair = Pair(game, *neighbours(BASES["normal"], CORNER, CORNER)["add-remove"], True, 0)
        assert pair.path_mu <= 2.0


# One number of the release.


def tells(cls, tell):
    """A mechanism whose release tells something of the exact number of records."""
    honest = cls.__call__
    return ((cls, "__call__", lambda self, data: tell(self, data.source.private_n, honest, data)),)


def in_an_attribute(mechanism, n, run, data):
    return replace(run(mechanism, data), n_samples=float(n))


def in_a_shape(mechanism, n, run, data):
    release = run(mechanism, data)
    return replace(release, components=release.components[: 1 + n % 2])


def in_an_error(mechanism, n, run, data):
    if n <= 20:
        raise ValueError("too few records")
    return run(mechanism, data)


def in_the_clipping(mechanism, n, run, data):
    return run(replace(mechanism, clip="spherical" if n > 20 else "auto"), data)


def in_the_pairs(mechanism, n, run, data):
    return run(replace(mechanism, pairs="incomplete" if n > 20 else "complete"), data)


def predicted_from_data(mean, directions, prediction, *args):
    X = mean.data.source.rows.X
    return honest_mean(mean, directions, (X @ directions.T).T @ X / len(X), *args)


honest_mean = BlockMean.__call__
N = len(NONE)


def centre_of_the_data(data):
    return Centred(data.centred_at(data.source.rows.X.mean(axis=0)), None)


def exactly_located(data, mu):
    return data.centred_at(data.source.private_rows.sum(axis=0))


def exactly_counted(data, mu):
    return replace(data, n=float(data.source.private_n))


def was_an_error(release):
    return float(release is None)


@dataclass(frozen=True)
class Number:
    """A number that a release shows, and a fault that lets it tell more."""

    case: Case
    patches: Patches
    number: Callable[[object], float]
    runs: int = 250


ABOUT_0 = CASES["DPGauss, bounded, about 0"]
ONE_STEP = Case(
    maker(KDPPCA, **TOLD, n_iter=1),
    neighbours(ALONG, ABOVE, BELOW),
    patches=CASES["KDPPCA, block"].patches,
)
WITH_CENTRE = replace(ONE_STEP, make=maker(KDPPCA, **TOLD | {"center": True}, n_iter=1))
LOCATED = replace(PAIRS, make=maker(GDPPCA))
AUTO = replace(PAIRS, make=maker(GDPPCA, **KENDALL, pairs="auto"))
NUMBERS = {
    "n": Number(ABOUT_0, tells(DPGaussMechanism, in_an_attribute), lambda r: r.n_samples, 1000),
    "clip": Number(
        ABOUT_0,
        tells(DPGaussMechanism, in_the_clipping),
        lambda r: float(r.details["clip"] == "spherical"),
        1000,
    ),
    "shape": Number(
        ABOUT_0, tells(DPGaussMechanism, in_a_shape), lambda r: float(len(r.components)), 1000
    ),
    "error": Number(ABOUT_0, tells(DPGaussMechanism, in_an_error), was_an_error, 1000),
    "n of pairs": Number(AUTO, tells(GDPPCAMechanism, in_an_attribute), lambda r: r.n_samples),
    "pairs": Number(
        AUTO,
        tells(GDPPCAMechanism, in_the_pairs),
        lambda r: float(r.details["pairs"] == "complete"),
    ),
    "location": Number(
        LOCATED, ((gdppca, "robust_location", exactly_located),), lambda r: r.centre[1]
    ),
    "prediction": Number(
        ONE_STEP,
        ((BlockMean, "__call__", predicted_from_data),),
        lambda r: r.components[0, 1] ** 2,
    ),
    "centre": Number(
        WITH_CENTRE, ((subspace, "rough_centre", centre_of_the_data),), lambda r: r.centre[1]
    ),
    "count": Number(
        CASES["DPPowerMethod"],
        ((PrivateData, "ask_count", exactly_counted),),
        lambda r: r.n_samples,
    ),
}


def proven(name, mu, monkeypatch):
    """Return the lower bound on mu that a number of the release proves."""
    row = NUMBERS[name]
    game = row.case.game(mu, "add-remove", monkeypatch)

    def shown(X, noise):
        try:
            return game(X, noise)
        except ValueError:
            return None, ()

    return number_bound(shown, row.case.pairs["add-remove"], row.number, row.runs, ALPHA)


@mostly_slow("name", NUMBERS, quick=[("prediction",)])
def test_a_number_shows_the_fault(name, monkeypatch):
    for patch in NUMBERS[name].patches:
        monkeypatch.setattr(*patch)
    assert proven(name, 2.0, monkeypatch) > 2.0


@pytest.mark.slow
@pytest.mark.parametrize("name", NUMBERS)
def test_without_the_fault_a_number_holds_its_mu(name, monkeypatch):
    assert proven(name, 2.0, monkeypatch) <= 2.0


# How many runs a side a game has, and the share of mu that it shows at least.
OF_GRAM = {
    "DPGauss, bounded, about 0": (RUNS, 0.6),
    "DPGauss, bounded": (RUNS, 0.6),
    "DPGauss": (1000, -9),
}


@pytest.fixture
def entry(monkeypatch):
    """Return what the odd record moves of the last noisy Gram matrix, by adjacency."""
    seen, honest = [], dp_gauss.release_gram

    def release(*args, **more):
        found = honest(*args, **more)
        seen[:] = [found.matrix]
        return found

    monkeypatch.setattr(dp_gauss, "release_gram", release)
    # The odd record fills one entry; the one that it replaces leaves another.
    return lambda adjacency: lambda _: seen[0][0, 0] - (adjacency != "add-remove") * seen[0][1, 1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "adjacency", "mu"), pairwise(list(OF_GRAM), ADJACENCIES, [2.0, 3.0])
)
def test_the_gram_matrix_holds_its_mu(name, adjacency, mu, entry, monkeypatch):
    case, (runs, least) = CASES[name], OF_GRAM[name]
    game = case.game(mu, adjacency, monkeypatch)
    bound = number_bound(game, case.pairs[adjacency], entry(adjacency), runs, ALPHA)
    assert least * mu < bound <= mu


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "mu"), [("noise", 2.0), ("noise", 3.0), ("clipping", 3.0)])
@on_both_adjacencies
def test_the_gram_matrix_shows_a_fault(fault, adjacency, mu, entry, monkeypatch):
    if fault == "noise":
        weaken_noise(monkeypatch)
    else:
        monkeypatch.setattr(gram, "clip_weights", unclipped)
    game = ABOUT_0.game(mu, adjacency, monkeypatch)
    assert number_bound(game, ABOUT_0.pairs[adjacency], entry(adjacency), RUNS, ALPHA) > mu
