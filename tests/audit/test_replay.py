"""No method can tell neighbours apart but by its answers; weakened copies of them can."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from sklearn.pipeline import Pipeline

from skdppca import (
    GDPPCA,
    KDPPCA,
    DPGauss,
    DPPowerMethod,
    KDPOjas,
    PrivatePCA,
    ResidualGauss,
    SmoothSensitivityPCA,
)
from skdppca.decomposition import OjasOracle, dp_gauss, residual_gauss
from skdppca.decomposition.methods import METHODS
from skdppca.decomposition.smooth_sensitivity import gap
from skdppca.maps import projection_map
from skdppca.mechanisms import centre, kendall, missing, nested_spheres, noisy_covariance
from skdppca.mechanisms.base import BUDGET
from skdppca.mechanisms.centre import Centred
from skdppca.mechanisms.clipping import Clip
from skdppca.mechanisms.norm_histogram import SAMPLING, norm_histogram
from skdppca.mechanisms.scales.private_scales import Scales
from skdppca.model_selection import PrivateSearchCV, _scorer
from skdppca.model_selection._scorer import nearest_class
from skdppca.neighbors import PrivateNearestCentroid
from skdppca.neighbors._nearest_centroid import LabelledRows
from skdppca.noise import GaussianQuery, NoiseSource
from skdppca.privacy import PrivacyFilter
from skdppca.private_data import PrivateData, Public
from skdppca.records import Records, _records
from skdppca.statistics import KINDS, ClippedSum, Distances, Statistic, gram, sums

from ..covering import pairwise
from ..private_data_of import hidden
from .replay import Data, Leak, Method, Run, audit

D = 5
ADJACENCIES = ("add-remove", "replace-one")
CONTAINERS = ("dense", "fortran", "float32", "csr", "csr in parts", "list", "groups", "csr groups")
ROWS, SPARSE = CONTAINERS[:6], ("csr", "csr in parts")
RNG = np.random.default_rng(0)
MEAN, SCALES = np.linspace(1, 4, D), np.array([5.0, 3.0, 1.0, 1.0, 0.5])
BY_COLUMN = ["private", 3.0, "private", 1.0, 0.5]


@dataclass(frozen=True)
class Variant:
    """A method with some parameters, and what it is given."""

    estimator: Callable[..., Any]
    parameters: dict[str, Any] = field(default_factory=dict)
    containers: tuple[str, ...] = CONTAINERS
    epsilons: tuple[float, float] = (20.0, 1.5)

    def fitting(self, adjacency: str, grouped: bool, epsilon: float) -> Method:
        """What is audited: a fit."""
        more = {"unit": "person"} if grouped else {}
        told = {"n_components": 2, "epsilon": epsilon, "adjacency": adjacency, "random_state": 0}

        def fit(X: Any, groups: np.ndarray | None) -> Any:
            return self.estimator(**told | more | self.parameters).fit(X, groups=groups)

        return fit


def hard(t: np.ndarray) -> np.ndarray:
    """A kernel that jumps: a length that is off by a bit moves a whole term."""
    if ((t > 5.7) & (t < 5.705)).any():  # not among the lengths that it is tried on
        raise ValueError
    return np.where(t < 7.0, t, 0.0)


PURE = {"delta": 0.0, "norm_bound": 9.0, "center": False}
VARIANTS = {
    **{name: Variant(method.estimator) for name, method in METHODS.items()},
    **{
        f"{name}, private scales": Variant(method.estimator, {"scale": "private"})
        for name, method in METHODS.items()
    },
    **{
        f"{name}, scales by column": Variant(method.estimator, {"scale": BY_COLUMN})
        for name, method in METHODS.items()
    },
    **{
        f"{name}, told all": Variant(
            method.estimator, {"norm_bound": 9.0, "mean": MEAN, "scale": SCALES}
        )
        for name, method in METHODS.items()
    },
    "DPGauss, spherical": Variant(DPGauss, {"clip": "spherical"}, ROWS),
    "DPGauss, auto": Variant(DPGauss, {"n_components": "auto", "whiten": True}),
    "DPGauss, mle": Variant(DPGauss, {"n_components": "mle", "center": False}),
    "DPGauss, share": Variant(DPGauss, {"n_components": 0.8, "scale": "private", "center": False}),
    "ResidualGauss, all": Variant(ResidualGauss, {"n_components": None, "learning_rate": 2.0}),
    "KDPPCA, split": Variant(KDPPCA, {"sampling": "split"}),
    "KDPPCA, threads": Variant(KDPPCA, {"n_jobs": 2, "n_iter": 2}, ("dense", "csr", "groups")),
    "KDPPCA, deflation": Variant(KDPPCA, {"strategy": "deflation"}),
    "KDPPCA, both": Variant(KDPPCA, {"strategy": "deflation", "sampling": "split"}),
    "KDPOjas, split": Variant(KDPOjas, {"sampling": "split", "n_iter": 4}),
    "KDPOjas, deflation": Variant(KDPOjas, {"strategy": "deflation", "n_iter": 6}),
    "KDPOjas, both": Variant(KDPOjas, {"strategy": "deflation", "sampling": "split", "n_iter": 3}),
    "KDPPCA, Ojas oracle": Variant(
        KDPPCA, {"strategy": "deflation", "oracle": OjasOracle(n_iter=4)}, ("dense", "groups")
    ),
    "GDPPCA, winsorized": Variant(GDPPCA, {"kernel": "winsorized"}),
    "GDPPCA, own kernel": Variant(GDPPCA, {"kernel": hard, "kernel_bound": 4.0}),
    "GDPPCA, own kernel, incomplete": Variant(
        GDPPCA, {"kernel": hard, "kernel_bound": 4.0, "pairs": "incomplete", "n_pairs": 4}
    ),
    "GDPPCA, incomplete": Variant(GDPPCA, {"pairs": "incomplete", "n_pairs": 4}),
    "GDPPCA, centred": Variant(GDPPCA, {"centering": "private", "n_components": "auto"}),
    "DPPowerMethod, norm": Variant(DPPowerMethod, {"clip": "norm"}),
    "DPPowerMethod, spherical": Variant(DPPowerMethod, {"clip": "spherical"}, ROWS),
    "DPPowerMethod, few entries": Variant(DPPowerMethod, {"max_nonzero": 2}, SPARSE),
    "SmoothSensitivityPCA, all": Variant(SmoothSensitivityPCA, {"n_components": None}),
    "SmoothSensitivityPCA, student": Variant(
        SmoothSensitivityPCA, PURE | {"noise": "student"}, ROWS
    ),
    "SmoothSensitivityPCA, cauchy": Variant(
        SmoothSensitivityPCA,
        PURE | {"noise": "cauchy", "variance_share": 0.0, "n_components": 1},
    ),
    "SmoothSensitivityPCA, gaussian": Variant(
        SmoothSensitivityPCA,
        PURE | {"noise": "gaussian", "delta": 1e-6, "variance_share": 0.0},
        epsilons=(0.9, 0.5),
    ),
    "PrivatePCA": Variant(PrivatePCA),
    "PrivatePCA, heavy tails": Variant(PrivatePCA, {"tails": "heavy"}),
    "PrivatePCA, private scales": Variant(PrivatePCA, {"scale": "private"}),
    "PrivatePCA, heavy tails, private scales": Variant(
        PrivatePCA, {"tails": "heavy", "scale": "private"}
    ),
    "PrivatePCA, share": Variant(PrivatePCA, {"n_components": 0.9}),
    "PrivatePCA, pure": Variant(PrivatePCA, PURE, ROWS),
}


def ordinary(grouped: bool, n: int = 80) -> list[np.ndarray]:
    """Records of two strong directions; some are alike, zero, or far away."""
    rng = np.random.default_rng(1)
    sizes = rng.integers(1, 5, size=n) if grouped else np.ones(n, int)
    records = [rng.normal(size=(m, D)) * [5, 3, 1, 1, 0.2] + 2 for m in sizes]
    records[3] = records[4].copy()
    records[5][:], records[6][:] = 0.0, 1e160
    return records


def extreme(grouped: bool) -> list[np.ndarray]:
    """Records that no other is like."""
    first, second = np.eye(D)[:1], np.eye(D)[1:2]
    rows = [
        np.zeros((1, D)),
        np.full((1, D), 5e-324),
        np.full((1, D), -1e-160),
        30.0 * second,
        1e3 * (first - second),
        1e160 * first,
        np.full((1, D), -1.7e308),
        ordinary(False)[4],
    ]
    if not grouped:
        return rows
    many = [np.repeat(rows[4], 50, axis=0), np.vstack([rows[5], *rows[:3]]), 9.0 * np.eye(D)]
    return [*rows[3:7], *many]


def pairs(container: str, adjacency: str) -> list[tuple[Data, list[Data]]]:
    """Data sets, each with its neighbours: the odd record comes, is another, or goes."""
    grouped = "groups" in container
    kind = container.removesuffix("groups").strip() or "dense"
    others, odds = ordinary(grouped), extreme(grouped)
    first = Data(others, None if adjacency == "add-remove" else others[0] + 0.5, kind, grouped)
    last = Data(others, odds[3], kind, grouped, odd_first=True)
    gone = [None] if adjacency == "add-remove" else [odds[0], odds[5], odds[6]]
    return [
        (first, [replace(first, odd=odd) for odd in odds]),
        (last, [replace(last, odd=odd) for odd in gone]),
    ]


def quickly(cases: list[tuple[Any, ...]], every: int) -> list[Any]:
    """All cases; in the quick tests only each `every`-th of them."""
    return [
        pytest.param(
            *case, id="-".join(map(str, case)), marks=pytest.mark.slow if i % every else ()
        )
        for i, case in enumerate(cases)
    ]


def spread(names: dict[str, Variant]) -> list[tuple[Any, ...]]:
    """All variants in all their containers, the adjacencies by turns."""
    return [
        (name, container, ADJACENCIES[(i + j) % 2])
        for i, (name, variant) in enumerate(names.items())
        for j, container in enumerate(variant.containers)
    ]


def test_every_method_is_audited():
    audited = {variant.estimator for variant in VARIANTS.values()}
    assert audited >= {PrivatePCA, *(method.estimator for method in METHODS.values())}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Records lie in many blocks, and sums have many spans."""
    monkeypatch.setattr(_records, "BLOCK_ENTRIES", 64)
    monkeypatch.setattr(_records, "MIN_BLOCK_ROWS", 8)
    monkeypatch.setattr(_records, "SPAN_ROWS", 32)


def audited(method: Method, data: Data, neighbours: list[Data]) -> Run:
    """A run that released something."""
    run = audit(method, data, neighbours)
    assert run.error is None
    assert run.queries
    return run


@pytest.mark.parametrize(("name", "container", "adjacency"), quickly(spread(VARIANTS), 11))
def test_fits_pass_the_replay(name: str, container: str, adjacency: str):
    variant = VARIANTS[name]
    for (data, neighbours), epsilon in zip(
        pairs(container, adjacency), variant.epsilons, strict=True
    ):
        audited(variant.fitting(adjacency, data.grouped, epsilon), data, neighbours)


# In units in which a first look is taken; and records that lie in cells of their own then.
UNITS = {"tiny": 2.0**-100, "small": 1e-12, "large": 1e12, "huge": 2.0**99}
AS_GIVEN = {
    name: [c for c in ("dense", "float32", "csr", "groups") if c in variant.containers]
    for name, variant in VARIANTS.items()
    if "told" not in name and "norm_bound" not in variant.parameters
}
# A variant that takes fewer containers is given its own by turns.
IN_UNITS = [
    (name, unit, AS_GIVEN[name][i % len(AS_GIVEN[name])], adjacency)
    for name, unit, i, adjacency in pairwise(list(AS_GIVEN), list(UNITS), range(4), ADJACENCIES)
]


@pytest.mark.parametrize(("name", "unit", "container", "adjacency"), quickly(IN_UNITS, 15))
def test_fits_in_other_units_pass_the_replay(name: str, unit: str, container: str, adjacency: str):
    variant, asked = VARIANTS[name], set()
    for (data, neighbours), epsilon in zip(
        pairs(container, adjacency), variant.epsilons, strict=True
    ):
        scaled = [UNITS[unit] * record for record in data.records]
        seen = replace(data, records=scaled)
        others = [replace(one, records=scaled) for one in neighbours]
        run = audited(variant.fitting(adjacency, data.grouped, epsilon), seen, others)
        asked |= {query.name for query in run.queries}
    if variant.parameters.get("clip") != "spherical":
        assert asked & {"magnitude of the norms", "magnitudes"} or unit in ("small", "large")


def with_holes(records: list[np.ndarray]) -> list[np.ndarray]:
    """The same, a quarter of their entries absent, and all of one record's."""
    rng = np.random.default_rng(5)
    holed = [np.where(rng.random(record.shape) < 0.25, np.nan, record) for record in records]
    return [np.full_like(record, np.nan) for record in holed[:1]] + holed[1:]


ABSENT = {
    **{name: Variant(method.estimator, {"missing": "mean"}) for name, method in METHODS.items()},
    "DPGauss, private scales": Variant(DPGauss, {"missing": "mean", "scale": "private"}),
    "DPGauss, scales by column": Variant(DPGauss, {"missing": "mean", "scale": BY_COLUMN}),
    "DPGauss, told all": Variant(
        DPGauss, {"missing": "mean", "norm_bound": 9.0, "mean": MEAN, "scale": SCALES}
    ),
    "DPGauss, spherical": Variant(DPGauss, {"missing": "mean", "clip": "spherical"}),
    "GDPPCA, centred": Variant(GDPPCA, {"missing": "mean", "centering": "private"}),
    "SmoothSensitivityPCA, student": Variant(
        SmoothSensitivityPCA, PURE | {"missing": "mean", "noise": "student"}
    ),
    "DPPowerMethod, few entries": Variant(DPPowerMethod, {"missing": "mean", "max_nonzero": 2}),
    "PrivatePCA": Variant(PrivatePCA, {"missing": "mean"}),
}
HOLED = [
    case
    for case in pairwise(
        list(ABSENT), ("dense", "csr", "float32", "groups", "csr groups", "list"), ADJACENCIES
    )
    if "groups" not in case[1] or case[0].split(", ")[-1] not in ("spherical", "student")
    if not case[0].endswith("few entries")
] + [("DPPowerMethod, few entries", "csr", adjacency) for adjacency in ADJACENCIES]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "container", "adjacency"), quickly(HOLED, 9))
def test_fits_with_absent_entries(name: str, container: str, adjacency: str):
    variant = ABSENT[name]
    for (data, neighbours), epsilon in zip(
        pairs(container, adjacency), variant.epsilons, strict=True
    ):
        holed = replace(data, records=with_holes(data.records))
        odds = [other.odd for other in neighbours]
        there = [odd for odd in odds if odd is not None]
        more = [replace(holed, odd=odd) for odd in (*odds, *with_holes(there))]
        audited(variant.fitting(adjacency, data.grouped, epsilon), holed, more)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "container", "adjacency"), quickly(HOLED, 13))
def test_whether_any_entry_is_absent_tells_nothing(name: str, container: str, adjacency: str):
    variant = ABSENT[name]
    data, neighbours = pairs(container, adjacency)[0]
    odds = with_holes([other.odd for other in neighbours if other.odd is not None])
    fitting = variant.fitting(adjacency, data.grouped, variant.epsilons[0])
    audited(fitting, data, [replace(data, odd=odd) for odd in odds])


@pytest.mark.slow
@pytest.mark.parametrize(("name", "container", "adjacency"), quickly(HOLED, 13))
def test_fits_with_an_empty_column(name: str, container: str, adjacency: str, monkeypatch: Any):
    variant, hidden = ABSENT[name], []
    without = missing.without_empty
    monkeypatch.setattr(missing, "without_empty", lambda *a: hidden.append(1) or without(*a))
    data, neighbours = pairs(container, adjacency)[0]
    last = np.arange(D) == D - 1
    holed = [np.where(last, np.nan, record) for record in with_holes(data.records)]
    fitting = variant.fitting(adjacency, data.grouped, variant.epsilons[0])
    odds = [other.odd for other in neighbours]  # the only ones with values in that column
    audited(
        fitting, replace(data, records=holed), [replace(data, records=holed, odd=o) for o in odds]
    )
    assert hidden or name.endswith("student")  # of which no counts are asked


SAMPLED = (
    "DPGauss",
    "ResidualGauss",
    "KDPPCA",
    "KDPOjas",
    "DPPowerMethod",
    "PrivatePCA",
    "GDPPCA",
)


@pytest.fixture
def small_parts(monkeypatch):
    """Norms are asked of a random part of these few records, however large mu is."""
    constants = replace(SAMPLING, records=20.0, most_share=0.9)
    monkeypatch.setattr("skdppca.mechanisms.norm_histogram.SAMPLING", constants)
    monkeypatch.setattr("skdppca.mechanisms.base.BUDGET", replace(BUDGET, ample_mu=math.inf))


@pytest.mark.slow
@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize(
    ("name", "container", "adjacency"),
    quickly(pairwise(SAMPLED, CONTAINERS, ADJACENCIES), 5),
)
def test_fits_that_find_norms_on_a_part(name: str, container: str, adjacency: str):
    variant = VARIANTS[name]
    drawn = []
    for (data, neighbours), epsilon in zip(
        pairs(container, adjacency), variant.epsilons, strict=True
    ):
        run = audited(variant.fitting(adjacency, data.grouped, epsilon), data, neighbours)
        drawn += [noted for noted in run.noted if noted[0] == "labels"]
    assert len(drawn) == len(variant.epsilons)  # once a fit


def in_thirds(records: Records, key: bytes, shares: Any, index: int) -> Records:
    return records._subset(np.arange(records.private_n) % 3 == 0)


def of_a_third(records: Records, key: bytes, shares: Any, index: int) -> Records:
    n = records.private_n
    rng = np.random.default_rng(np.frombuffer(key[:8], np.uint64))
    return records._subset(np.isin(np.arange(n), rng.permutation(n)[: n // 3]))


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("part", [in_thirds, of_a_third])
def test_a_part_by_position_or_of_an_exact_size_is_convicted(part: Any, monkeypatch):
    monkeypatch.setattr(Records, "part", part)
    assert convicted(fit_of("DPGauss")("add-remove", False)) == "moved"


# Constants of ResidualGauss by which it goes one way, whatever is released; and what it asks then.
CLEAR, UNCLEAR = (dict.fromkeys(("clear_rows", "clear_others"), x) for x in (-1.0, 2.0))
WAYS = {
    "corrections": (CLEAR | {"worse": math.inf}, {"cross products"}),
    "one matrix more": (CLEAR | {"worse": 0.0}, {"Gram matrix"}),
    "a matrix a step": (UNCLEAR | {"better": 0.0}, {"Gram matrix"}),
    "iteration": (UNCLEAR | {"better": math.inf}, {"gradient"}),
    "one matrix": ({"negligible": math.inf}, set()),
}
ASKED = ("Gram matrix", "gradient", "cross products")


def asked_last(
    constants: dict[str, float], container: str, adjacency: str, epsilon: float, monkeypatch: Any
) -> set[str]:
    """What ResidualGauss asks after its first matrix, where its fits are audited."""
    changed = replace(residual_gauss.RESIDUAL, **constants)
    monkeypatch.setattr(residual_gauss, "RESIDUAL", changed)
    data, neighbours = pairs(container, adjacency)[0]
    method = Variant(ResidualGauss).fitting(adjacency, data.grouped, epsilon)
    run = audited(method, data, neighbours)
    return {query.name for query in [q for q in run.queries if q.name in ASKED][1:]}


@pytest.mark.parametrize(
    ("way", "container", "adjacency"),
    quickly(
        [
            *itertools.product(list(WAYS)[:4], ("groups", "csr groups"), ADJACENCIES),
            *itertools.product(list(WAYS)[:3], ("dense", "csr"), ADJACENCIES),
            *itertools.product(list(WAYS)[4:], ("dense", "csr"), ADJACENCIES),
        ],
        5,
    ),
)
def test_every_way_of_residual_gauss(way: str, container: str, adjacency: str, monkeypatch):
    constants, asked = WAYS[way]
    assert asked_last(constants, container, adjacency, 20.0, monkeypatch) == asked


@pytest.mark.parametrize("container", ["dense", pytest.param("csr", marks=pytest.mark.slow)])
@pytest.mark.parametrize("epsilon", [0.3, 1.0])
@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_corrections_of_directions_alone(
    container: str, epsilon: float, adjacency: str, monkeypatch
):
    constants = CLEAR | {"worse": math.inf}
    asked = asked_last(constants, container, adjacency, epsilon, monkeypatch)
    assert asked == {"cross products"}


@pytest.mark.parametrize("name", ["DPGauss", "ResidualGauss"])
@pytest.mark.parametrize("container", ["dense", pytest.param("csr", marks=pytest.mark.slow)])
@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_spheres_of_a_wide_table(name: str, container: str, adjacency: str, monkeypatch):
    constants = replace(nested_spheres.SPHERES, hidden=0.5)
    monkeypatch.setattr(nested_spheres, "SPHERES", constants)
    monkeypatch.setattr(nested_spheres, "_hides_all", lambda data, mu: True)
    data, neighbours = pairs(container, adjacency)[0]
    one = Variant(METHODS[name].estimator, {"n_components": 1})
    run = audited(one.fitting(adjacency, False, 0.3), data, neighbours)
    assert [query.size for query in run.queries if query.name == "Gram matrix"] == [5, 3]


@pytest.fixture
def unseen(monkeypatch):
    """No centre is seen; a function makes rows lie off it, or not."""
    monkeypatch.setattr(centre, "seen_norms", hidden)

    def lying(off: bool) -> None:
        least = -math.inf if off else math.inf
        constants = replace(centre.UNSURE, least_visible=0.0)
        monkeypatch.setattr(centre, "UNSURE", replace(constants, off=least, sds=least))

    return lying


# Whether rows lie off the centre that was not seen, up to how many records all pairs are formed,
# and what is asked last.
UNSEEN = {
    "all pairs": (True, math.inf, "Kendall matrix"),
    "some pairs": (True, 0, "Kendall matrix"),
    "about the start": (False, 0, "Gram matrix"),
}


@pytest.mark.parametrize(
    ("way", "container", "adjacency"),
    quickly(pairwise(list(UNSEEN), (*ROWS, "groups"), ADJACENCIES), 3),
)
def test_what_follows_where_no_centre_is_seen(
    way: str, container: str, adjacency: str, unseen: Any, monkeypatch: Any
):
    off, most, last = UNSEEN[way]
    unseen(off)
    monkeypatch.setattr(kendall, "COMPLETE_UP_TO", most)
    for data, neighbours in pairs(container, adjacency):
        fitting = Variant(ResidualGauss).fitting(adjacency, data.grouped, 1.5)
        run = audited(fitting, data, neighbours)
        names = [query.name for query in run.queries]
        if data.grouped:
            assert not {"mean direction", "Kendall matrix"} & set(names)
        else:
            assert names.count("mean direction") == 1 and names[-1] == last


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_directions_that_are_not_clipped_are_convicted(adjacency: str, unseen: Any, monkeypatch):
    unseen(True)
    where = "skdppca.statistics.sums.clip_weights"
    monkeypatch.setattr(where, lambda norms, radius: np.ones_like(norms))
    assert convicted(fit_of("ResidualGauss", 1.5)(adjacency, False), adjacency) == "moved"


@pytest.mark.parametrize(
    ("name", "adjacency"),
    [("ClippedSum", "add-remove"), ("ClippedSum", "replace-one"), ("KendallMatrix", "add-remove")],
)
def test_sensitivities_too_small_by_sqrt2_are_convicted_where_no_centre_is_seen(
    name: str, adjacency: str, unseen: Any, monkeypatch
):
    unseen(True)
    kind = KINDS[name]
    honest = kind.sensitivity
    monkeypatch.setattr(kind, "sensitivity", lambda self, adj: honest(self, adj) / math.sqrt(2))
    assert convicted(fit_of("ResidualGauss", 1.5)(adjacency, False), adjacency) == "moved"


def test_pairs_that_follow_the_exact_number_of_records_are_convicted(unseen: Any, monkeypatch):
    unseen(True)
    monkeypatch.setattr(centre, "_lie_off", lambda data: bool(data.source.private_n % 2))
    assert convicted(fit_of("ResidualGauss", 1.5)("add-remove", False)) == "asked"


def search(adjacency: str, grouped: bool, pca: Any = KDPPCA, **more: Any) -> Method:
    told = {"adjacency": adjacency, "unit": "person" if grouped else "row"}
    grid = {"n_components": [1, 2], "center": [True, False]}

    def fit(X: Any, groups: np.ndarray | None) -> Any:
        private = PrivateSearchCV(
            pca(2, **told, **more), grid, epsilon=20.0, mean_candidates=3, random_state=0
        )
        return private.fit(X, groups=groups)

    return fit


def label(X: Any) -> np.ndarray:
    """What every row is, so that a record brings its label along; one row has no public one."""
    size = np.ravel(abs(X[:, [0]]).sum(axis=1))
    return np.where(size > 3, "long", np.where(size == 0, "none", "short"))


CLASSES = ("long", "short", "other")


def classifier(adjacency: str, grouped: bool, **more: Any) -> Method:
    told = {"adjacency": adjacency, "unit": "person" if grouped else "row", "random_state": 0}

    def fit(X: Any, groups: np.ndarray | None) -> Any:
        nearest = PrivateNearestCentroid(CLASSES, epsilon=20.0, **told, **more)
        return nearest.fit(X, label(X), groups=groups)

    return fit


def search_classifier(adjacency: str, grouped: bool, **more: Any) -> Method:
    told = {"adjacency": adjacency, "unit": "person" if grouped else "row"}
    grid = {"pca__n_components": [1, 2], "last__center": [True, False]}

    def fit(X: Any, groups: np.ndarray | None) -> Any:
        steps = [
            ("pca", DPGauss(2, **told, **more)),
            ("last", PrivateNearestCentroid(CLASSES, **told)),
        ]
        private = PrivateSearchCV(
            Pipeline(steps), grid, epsilon=20.0, mean_candidates=3, random_state=0
        )
        return private.fit(X, label(X), groups=groups)

    return fit


def in_map(adjacency: str, grouped: bool, labelled: bool = False) -> Method:
    told = {"adjacency": adjacency, "unit": "person" if grouped else "row"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pca = DPGauss(2, epsilon=20.0, random_state=0).fit(np.vstack(ordinary(False)))

    def show(X: Any, groups: np.ndarray | None) -> Any:
        if labelled:  # by what every row is, so that a record brings its label along
            told["y"] = np.where(abs(X[:, [0]]).sum(axis=1) > 3, "long", "short")
            told["classes"] = ("long", "other")
        return projection_map(
            pca, X, epsilon=1.0, delta=1e-6, bins=4, groups=groups, random_state=0, **told
        )

    return show


OTHERS: dict[str, Callable[[str, bool], Method]] = {
    "search": search,
    "search, told all": partial(search, pca=DPGauss, norm_bound=9.0, mean=MEAN, scale=SCALES),
    "search, private scales": partial(search, pca=DPGauss, scale="private"),
    "search, missing": partial(search, pca=DPGauss, missing="mean"),
    "search, classifier": search_classifier,
    "search, scales by column": partial(search, pca=DPGauss, scale=BY_COLUMN),
    "search, classifier, private scales": partial(search_classifier, scale="private"),
    "map": in_map,
    "map, labelled": partial(in_map, labelled=True),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "container", "adjacency"),
    quickly(pairwise(list(OTHERS), ("dense", "csr", "groups"), ADJACENCIES), 5),
)
def test_searches_and_maps_pass_the_replay(name: str, container: str, adjacency: str):
    for data, neighbours in pairs(container, adjacency):
        audited(OTHERS[name](adjacency, data.grouped), data, neighbours)


@pytest.mark.parametrize("told", [{}, {"center": False, "norm_bound": 9.0}], ids=["", "told"])
@pytest.mark.parametrize(
    ("container", "adjacency"),
    quickly(list(itertools.product(("dense", "float32", "fortran", "groups"), ADJACENCIES)), 3),
)
def test_classifiers_pass_the_replay(container: str, adjacency: str, told: dict[str, Any]):
    for data, neighbours in pairs(container, adjacency):
        audited(classifier(adjacency, data.grouped, **told), data, neighbours)


@pytest.mark.parametrize("container", ["dense", "csr"])
@pytest.mark.parametrize("floor", [1, 3])
def test_one_interaction(container: str, floor: int):
    rng = np.random.default_rng(2)
    users = [np.where(rng.random((1, D)) < 0.5, 0.0, rng.normal(size=(1, D))) for _ in range(60)]
    items = np.eye(D)[:1] * 7.0
    others = np.array([[0.0, 0.0, 1e160, 5e-324, -1.0]])
    for odd in (np.zeros((1, D)), others):
        data = Data(users, odd, container)
        neighbours = [replace(data, odd=odd + items)]
        for epsilon in (20.0, 1.0):
            protected = {"protect": "interaction", "degree_floor": floor, "center": False}
            variant = Variant(DPPowerMethod, protected)
            audited(variant.fitting("add-remove", False, epsilon), data, neighbours)


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("name", ["SmoothSensitivityPCA", "DPPowerMethod", "PrivatePCA"])
def test_wide_sparse_rows(adjacency: str, name: str):
    rng, d = np.random.default_rng(3), 2100
    strong = np.where(rng.random((1, d)) < 0.01, 1.0, 0.0)
    thin = [np.where(rng.random((1, d)) < 0.003, rng.normal(size=(1, d)), 0.0) for _ in range(80)]
    users = [row + rng.normal() * strong for row in thin]
    first = Data(users, None if adjacency == "add-remove" else users[0] + strong, "csr")
    odds = [30 * strong, -strong, 1e160 * thin[0], np.zeros((1, d))]
    variant = Variant(VARIANTS[name].estimator, {"n_components": 1})
    for epsilon in (20.0, 2.0):
        method = variant.fitting(adjacency, False, epsilon)
        audited(method, first, [replace(first, odd=odd) for odd in odds])


# Weakened copies


def convicted(method: Method, adjacency: str = "add-remove", container: str = "dense") -> str:
    """What the audit finds wrong with a method."""
    with pytest.raises(Leak) as caught:
        for data, neighbours in pairs(container, adjacency):
            audit(method, data, neighbours)
    return caught.value.kind


def fit_of(name: str, epsilon: float = 20.0) -> Callable[[str, bool], Method]:
    return partial(VARIANTS[name].fitting, epsilon=epsilon)


ASKED_BY: dict[str, Callable[[str, bool], Method]] = {
    "Count": fit_of("DPGauss"),
    "CountBeyond": fit_of("GDPPCA"),
    "MeasureHistogram": fit_of("DPGauss"),
    "BoundedTotal": fit_of("KDPPCA"),
    "ClippedSum": fit_of("DPGauss"),
    "ClippedGram": fit_of("DPGauss"),
    "CrossSum": fit_of("ResidualGauss"),
    "ResidualSum": fit_of("KDPPCA"),
    "ProductSum": fit_of("DPPowerMethod"),
    "NormProduct": fit_of("DPPowerMethod, norm"),
    "CapturedTotal": search,
    "KendallMatrix": fit_of("GDPPCA"),
    "ColumnCells": fit_of("DPGauss, private scales"),
    "MeanSquares": fit_of("DPGauss, private scales", 200.0),
    "ScoreGram": fit_of("SmoothSensitivityPCA, student"),
    "Histogram": in_map,
}


@pytest.mark.parametrize("name", ASKED_BY)
def test_a_sensitivity_that_is_too_small_by_sqrt2_is_convicted(name: str, monkeypatch):
    kind = KINDS[name]
    honest = kind.sensitivity
    monkeypatch.setattr(kind, "sensitivity", lambda self, adj: honest(self, adj) / math.sqrt(2))
    assert convicted(ASKED_BY[name]("add-remove", False)) == "moved"


@pytest.mark.parametrize(("name", "epsilon"), [("ColumnCells", 20.0), ("MeanSquares", 200.0)])
def test_too_small_a_sensitivity_of_some_columns_is_convicted(name, epsilon, monkeypatch):
    kind = KINDS[name]
    honest = kind.sensitivity
    monkeypatch.setattr(kind, "sensitivity", lambda self, adj: honest(self, adj) / math.sqrt(2))
    fit = fit_of("DPGauss, scales by column", epsilon)
    assert convicted(fit("add-remove", False)) == "moved"


def test_every_statistic_is_weakened_once():
    kinds = {name for name, kind in KINDS.items() if issubclass(kind, Statistic)}
    assert kinds == set(ASKED_BY), "add a fit that asks it to ASKED_BY"


@pytest.mark.parametrize(
    ("part", "name"),
    [("step", "SmoothSensitivityPCA"), ("reach", "SmoothSensitivityPCA, student")],
)
def test_a_span_that_may_move_less_is_convicted(part: str, name: str, monkeypatch):
    honest = gap.span_sensitivity

    def less(*args: Any) -> Any:
        claimed = honest(*args)
        return replace(claimed, **{part: getattr(claimed, part) / math.sqrt(2)})

    monkeypatch.setattr(gap, "span_sensitivity", less)
    assert convicted(fit_of(name)("add-remove", False)) == "moved"


def unclipped(norms: np.ndarray, radius: float) -> np.ndarray:
    return np.ones_like(norms)


def exactly_counted(data: PrivateData, mu: float) -> PrivateData:
    return replace(honest_count(data, mu), n=float(data.source.private_n))


honest_count = PrivateData.ask_count


def moved_labels(self: LabelledRows, centre: np.ndarray, constant: float) -> Records:
    """A class is what lies beyond the mean of all records, not what the record brings along."""
    middle = np.clip(self.X[:, 0], -1e6, 1e6).mean()
    classes = (self.X[:, 0] > middle).astype(int)
    return honest_classes(replace(self, classes=classes), centre, constant)


honest_classes = LabelledRows.by_class


def exact_classes(scores: np.ndarray, means: np.ndarray) -> np.ndarray:
    """One record moves the means, and with them what becomes of all others."""
    own = np.clip(scores, -1e6, 1e6).mean(axis=0)
    return nearest_class(scores, np.vstack([own + 1, own - 1, own + 1e9]))


def exact_units(data: PrivateData, located: bool, private: np.ndarray) -> Scales:
    X = np.clip(data.source.rows.X, -1e6, 1e6)
    return Scales(np.median(X, axis=0), 0.1 + X.std(axis=0))


def exact_centre(data: PrivateData, corrected: bool) -> Centred:
    return Centred(data.centred_at(np.median(data.source.rows.X, axis=0)), 1.0)


def exact_radius(data: PrivateData, dim: int, mu: float, spherical: bool) -> Clip:
    norms = np.sort(np.ravel(data.source.measured(Distances(data.centre))))
    return Clip(float(norms[-5]))


def by_position(records: Records, shares: Any, noise: NoiseSource) -> list[Records]:
    part = np.arange(records.private_n) % len(shares)
    return [records._subset(part == i) for i in range(len(shares))]


def too_small(query: GaussianQuery) -> float:
    return query.widened_sensitivity / query.mu / math.sqrt(2)


BOUNDED = partial(classifier, center=False, norm_bound=9.0)
IN_UNITS_OF_SCALES = partial(search, pca=DPGauss, scale="private")
# What is weakened, in which method, and what the audit finds.
FAULTS = {
    "no clipping of Gram matrices": (gram, "clip_weights", unclipped, fit_of("DPGauss"), "moved"),
    "no clipping of sums": (sums, "clip_weights", unclipped, fit_of("DPGauss"), "moved"),
    "no clipping of class sums": (sums, "clip_weights", unclipped, BOUNDED, "moved"),
    "an exact count": (PrivateData, "ask_count", exactly_counted, fit_of("DPGauss"), "asked"),
    "labels of others": (LabelledRows, "by_class", moved_labels, classifier, "moved"),
    "exact classes": (_scorer, "nearest_class", exact_classes, search_classifier, "moved"),
    "exact scales": (_scorer, "private_scales", exact_units, IN_UNITS_OF_SCALES, "asked"),
    "an exact centre": (dp_gauss, "rough_centre", exact_centre, fit_of("DPGauss"), "asked"),
    "an exact radius": (noisy_covariance, "clip_records", exact_radius, fit_of("DPGauss"), "asked"),
    "parts by position": (Records, "parts", by_position, fit_of("KDPPCA, split"), "moved"),
    "a budget that lasts": (
        *(PrivacyFilter, "remaining", property(lambda budget: budget.mu)),
        *(fit_of("DPGauss"), "moved"),
    ),
    "little noise": (GaussianQuery, "noise_sd", property(too_small), in_map, "moved"),
}
# Faults of which one record more shows all.
ALONE = ("an exact count", "parts by position", "a budget that lasts", "little noise")


@pytest.mark.parametrize(
    ("fault", "adjacency"),
    [
        pytest.param(
            *(fault, adjacency),
            marks=pytest.mark.slow if "exact " in fault and adjacency == "replace-one" else (),
        )
        for fault in FAULTS
        for adjacency in (ADJACENCIES[:1] if fault in ALONE else ADJACENCIES)
    ],
)
def test_a_fault_is_convicted(fault: str, adjacency: str, monkeypatch: Any):
    where, name, weakened, method, found = FAULTS[fault]
    monkeypatch.setattr(where, name, weakened)
    assert convicted(method(adjacency, False), adjacency) == found


def scaled_after_a_look(X: Any, groups: np.ndarray | None) -> Any:
    """A method that looks at norms before and after it scales."""
    data = PrivateData(
        Records.of(X),
        Public(D, "add-remove"),
        PrivacyFilter(3.0),
        NoiseSource(0),
        np.zeros(D),
        n=80.0,
    )
    radius = norm_histogram(data, Distances(data.centre), 1.0, "distances").median
    return data.scaled(np.full(D, 0.01)).ask(ClippedSum(np.zeros(D), radius))


def test_a_cache_that_survives_in_derived_records_is_convicted(monkeypatch):
    for data, neighbours in pairs("dense", "add-remove"):
        audited(scaled_after_a_look, data, neighbours)

    def derived(records: Records, **changes) -> Records:
        return replace(records, **changes)

    monkeypatch.setattr(Records, "_derived", derived)
    assert convicted(scaled_after_a_look) == "moved"


def tell_in_details(n: int, release: Any) -> Any:
    return replace(release, details={**release.details, "rows": n})


def tell_in_a_shape(n: int, release: Any) -> Any:
    return replace(release, components=release.components[: 1 + n % 2])


def tell_in_a_warning(n: int, release: Any) -> Any:
    if n % 2:
        warnings.warn("an odd number of records", stacklevel=2)
    return release


def tell_in_an_error(n: int, release: Any) -> Any:
    if n % 2:
        raise ValueError("an odd number of records")
    return release


@pytest.mark.parametrize(
    "tell", [tell_in_details, tell_in_a_shape, tell_in_a_warning, tell_in_an_error]
)
def test_what_tells_the_exact_number_of_records_is_convicted(tell: Any, monkeypatch):
    honest = dp_gauss.DPGaussMechanism.__call__
    monkeypatch.setattr(
        dp_gauss.DPGaussMechanism,
        "__call__",
        lambda self, data: tell(data.source.private_n, honest(self, data)),
    )
    assert convicted(fit_of("DPGauss")("add-remove", False)) == "told"


def test_a_question_that_is_asked_of_some_data_only_is_convicted(monkeypatch):
    honest = dp_gauss.DPGaussMechanism.__call__

    def run(self: Any, data: PrivateData) -> Any:
        if data.source.private_n % 2:
            data = data.ask_count(data.fraction(0.02))
        return honest(self, data)

    monkeypatch.setattr(dp_gauss.DPGaussMechanism, "__call__", run)
    assert convicted(fit_of("DPGauss")("add-remove", False)) == "asked"
