"""Every tuned number at half and at double: what the loss becomes.

Run ``python benchmarks/bench_constants.py``. A heuristic's numbers are the fields of a frozen
dataclass, ``...Constants``, beside it. A field is tried on every fit that reads it: small tables
and laws, no public facts but the budget (delta = 1e-6, add-remove), at three epsilons, the same
seeds for all values. The loss is the share of the best possible variance that the components miss
(of a classifier: errors); "half" and "double" hold its geometric mean over the fits, over that with
the value as it is, and twice its standard error. "variances" has the same of how far the released
variances are off, by their logarithms. A share of at least 1/2 is not doubled: its distance from 1
is halved. A few hundred fits do not show the rare disasters that some thresholds prevent. A number
that no fit here reads (0 fits) was not tried. The planner's numbers, which no fit reads, are not
listed.

A field that is stored with the same value is not measured again, so a run can be stopped;
``--only FIELD ...`` measures those whose names contain one of these.
"""

from __future__ import annotations

import itertools
import math
import pkgutil
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import fields, is_dataclass, replace
from functools import cache
from importlib import import_module
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from _common import RESULTS, arguments, kept, load, machine, save
from sklearn.datasets import load_digits, load_wine

import skdppca
from skdppca import (
    GDPPCA,
    KDPPCA,
    DPGauss,
    DPPowerMethod,
    KDPOjas,
    ResidualGauss,
    SmoothSensitivityPCA,
)
from skdppca.datasets import make_elliptical, make_gaussian, make_mixed, make_spiked
from skdppca.metrics import zeta_squared
from skdppca.model_selection import PrivateSearchCV
from skdppca.neighbors import PrivateNearestCentroid

EPSILONS = (0.3, 1.0, 3.0)
DELTA = 1e-6
FIRST_SEED = 610_000  # not that of any other table
LEAST_LOSS = 1e-12
LEAST_FITS = 200


class Table(NamedTuple):
    """Rows, what is true of them, and what a fit is told."""

    X: np.ndarray
    groups: np.ndarray | None
    covariance: np.ndarray
    k: int
    told: dict[str, Any]
    y: np.ndarray | None = None


def power_law(n: int, d: int, seed: int) -> Table:
    """Normal rows whose mean is 30 spreads away."""
    draw = make_gaussian(n, d, (1 / np.arange(1, d)), 0.1, random_state=seed)
    return Table(draw.X + 30 * draw.components[0], None, draw.covariance, 2, {})


def heavy_tails(seed: int) -> Table:
    draw = make_elliptical(1200, 20, (6, 3), 1.0, df=2, random_state=seed)
    return Table(draw.X, None, draw.covariance, 2, {})


def counts(seed: int) -> Table:
    """Poisson counts whose logarithms have two factors."""
    rng = np.random.default_rng(seed)
    loadings = np.random.default_rng(FIRST_SEED).normal(size=(2, 30)) / 2
    X = rng.poisson(np.exp(rng.normal(size=(1500, 2)) @ loadings)).astype(float)
    return Table(X, None, np.cov(X.T), 2, {})


def digits(seed: int) -> Table:
    """The digits in 4 x 4 pixels, resampled."""
    X, y = load_digits(return_X_y=True)
    some = np.random.default_rng(seed).integers(len(X), size=len(X))
    pooled = X.reshape(-1, 4, 2, 4, 2).mean(axis=(2, 4)).reshape(-1, 16)[some]
    return Table(pooled, None, np.cov(pooled.T), 3, {}, y[some])


def wine(seed: int) -> Table:
    """Wine, resampled: features in other units."""
    X = load_wine().data
    X = X[np.random.default_rng(seed).integers(len(X), size=1000)]
    return Table(X, None, np.corrcoef(X.T), 2, {"scale": "private"})


def mixed(n: int, rows: int, seed: int) -> Table:
    draw = make_mixed(n, rows_per_record=rows, random_state=seed)
    told = {"scale": "private"} | ({"unit": "person"} if rows > 1 else {})
    scales = np.sqrt(np.diag(draw.covariance))
    correlation = draw.covariance / np.outer(scales, scales)
    return Table(draw.X, draw.groups, correlation, 3, told)


def spiked(n: int, seed: int) -> Table:
    """Groups that share their signal."""
    draw = make_spiked(n, 30, 2, (10, 5), 0.3, random_state=seed)
    told = {"unit": "matrix", "center": False}
    return Table(draw.X, draw.groups, draw.covariance / 3, 2, told)  # three rows a group


def people(seed: int) -> Table:
    """Groups of one to five rows that share their mean."""
    rng = np.random.default_rng(seed)
    draw = make_gaussian(600, 20, (6, 3), 1.0, random_state=seed)
    groups = np.repeat(np.arange(600), rng.integers(1, 6, 600))
    X = draw.X[groups] + rng.normal(size=(len(groups), 20))
    return Table(X, groups, draw.covariance + np.eye(20), 2, {"unit": "person"})


def holed(seed: int) -> Table:
    table = power_law(1500, 20, seed)
    absent = np.random.default_rng([seed, 1]).random(table.X.shape) < 0.2
    return table._replace(X=np.where(absent, np.nan, table.X), told={"missing": "mean"})


def clear_gap(seed: int) -> Table:
    draw = make_gaussian(4000, 10, (10, 8), 0.3, random_state=seed)
    return Table(draw.X, None, draw.covariance, 2, {"center": False})


def bounded(seed: int) -> Table:
    """Rows with a public bound on their norms, and no mean."""
    table = power_law(1500, 20, seed)
    X = table.X - table.X.mean(axis=0)
    return table._replace(X=X, told={"norm_bound": 3.0, "center": False})


TABLES: dict[str, Callable[[int], Table]] = {
    "power law": lambda seed: power_law(1500, 30, seed),
    "few rows": lambda seed: power_law(300, 40, seed),
    "heavy tails": heavy_tails,
    "counts": counts,
    "digits": digits,
    "wine": wine,
    "mixed": lambda seed: mixed(800, 1, seed),
    "mixed, many rows": lambda seed: mixed(12_000, 1, seed),
    "mixed people": lambda seed: mixed(600, 3, seed),
    "spiked groups": lambda seed: spiked(800, seed),
    "few groups": lambda seed: spiked(100, seed),
    "people": people,
    "holed": holed,
    "clear gap": clear_gap,
    "bounded": bounded,
}

# What is fitted to each, and with which parameters.
FITS: list[tuple[str, type, dict[str, Any]]] = [
    *(
        (table, method, {})
        for table in ("power law", "counts", "digits", "spiked groups", "people", "few rows")
        for method in (DPGauss, ResidualGauss, KDPPCA, KDPOjas, DPPowerMethod)
    ),
    ("few groups", DPGauss, {}),
    ("few groups", ResidualGauss, {}),
    ("few groups", KDPPCA, {}),
    ("heavy tails", DPGauss, {"clip": "spherical"}),
    ("heavy tails", DPPowerMethod, {"clip": "norm"}),
    ("heavy tails", GDPPCA, {"centering": "private"}),
    ("power law", GDPPCA, {"centering": "private"}),
    ("digits", GDPPCA, {"kernel": "winsorized", "pairs": "incomplete"}),
    ("counts", GDPPCA, {"pairs": "incomplete"}),
    ("digits", SmoothSensitivityPCA, {}),
    ("clear gap", SmoothSensitivityPCA, {}),
    ("clear gap", SmoothSensitivityPCA, {"noise": "student", "delta": 0.0, "norm_bound": 15.0}),
    ("bounded", DPGauss, {}),
    ("bounded", DPGauss, {"center": True}),
    ("bounded", KDPPCA, {}),
    ("digits", PrivateNearestCentroid, {}),
    *((table, PrivateSearchCV, {}) for table in ("power law", "clear gap", "mixed")),
    *((table, DPGauss, {}) for table in ("wine", "mixed", "mixed people", "holed")),
    ("mixed, many rows", DPGauss, {}),
    *((table, DPPowerMethod, {}) for table in ("wine", "mixed", "mixed people")),
    *((table, ResidualGauss, {}) for table in ("mixed", "holed")),
    *((table, KDPPCA, {}) for table in ("wine", "holed")),
]

# A kind of fit: its number in `FITS`, and epsilon. A fit has a seed, too. What is measured: the
# loss, and the error of the variances.
Kind = tuple[int, float]
Fit = tuple[int, float, int]
Measured = tuple[float, float]


@cache
def table_of(name: str, seed: int) -> Table:
    return TABLES[name](seed)


def measured(fit: Fit) -> Measured:
    """NaN for the second where no variances are released; infinite losses where a fit fails."""
    which, epsilon, seed = fit
    name, method, more = FITS[which]
    table = table_of(name, seed)
    told: dict[str, Any] = {"epsilon": epsilon, "delta": DELTA, "random_state": seed, **table.told}
    told |= more
    if table.groups is None:
        told.pop("unit", None)
    try:
        if method is PrivateNearestCentroid:
            model = method(classes=range(10), **told).fit(table.X, table.y)
            return 1 - model.score(table.X, table.y), math.nan
        if method is PrivateSearchCV:
            own = {name: told.pop(name) for name in ("scale", "center") if name in told}
            candidates = {"clip": ["auto", "spherical"]}
            pca = method(DPGauss(table.k, **own), candidates, **told).fit(table.X)
            pca = pca.best_estimator_
        else:
            pca = method(table.k, **told).fit(table.X, groups=table.groups)
    except Exception:  # a budget that does not suffice, among others
        return math.inf, math.inf
    loss = max(zeta_squared(pca.components_, table.covariance), LEAST_LOSS)
    found = getattr(pca, "explained_variance_", None)
    if found is None:
        return loss, math.nan
    components = pca.components_
    true = np.einsum("ij,jk,ik->i", components, table.covariance, components)
    return loss, float(np.mean(np.abs(np.log(found / true)))) + LEAST_LOSS


class Reads:
    """Stands for constants, and notes which of them are read."""

    def __init__(self, constants: Any, noted: set[str], name: str):
        self.__dict__.update(constants=constants, noted=noted, name=name)

    def __getattr__(self, field: str) -> Any:
        self.noted.add(f"{self.name}.{field}")
        return getattr(self.constants, field)


def all_constants() -> dict[str, Any]:
    """The instances of every ``...Constants`` that a fit may read, by their names."""
    for module in pkgutil.walk_packages(skdppca.__path__, "skdppca."):
        if not module.name.endswith("__main__"):
            # What an extra that is not installed leaves out (sites, dask, the shell) has none.
            with suppress(ImportError):
                import_module(module.name)
    return {
        name: value
        for module in modules()
        for name, value in vars(module).items()
        if type(value).__name__.endswith("Constants")
        and name.isupper()
        and not type(value).__module__.startswith("skdppca.planner.")
    }


def modules() -> list[Any]:
    return [module for name, module in sys.modules.items() if name.startswith("skdppca")]


@contextmanager
def put(old: Any, new: Any) -> Iterator[None]:
    """In all modules, one object in the place of another."""
    places = [(m, name) for m in modules() for name, value in vars(m).items() if value is old]
    for module, name in places:
        setattr(module, name, new)
    try:
        yield
    finally:
        for module, name in places:
            setattr(module, name, old)


def paths(constants: Any, name: str) -> list[str]:
    """The numbers: ``NAME.field``, or ``NAME.field.part``."""
    found = []
    for field in fields(constants):
        value, path = getattr(constants, field.name), f"{name}.{field.name}"
        found += paths(value, path) if is_dataclass(value) else [path]
    return found


def numbers(constants: dict[str, Any]) -> list[tuple[str, Any]]:
    """Every number's path, and the dataclass that it starts from."""
    return [(path, these) for name, these in constants.items() for path in paths(these, name)]


def value_at(constants: Any, path: str) -> float:
    for field in path.split(".")[1:]:
        constants = getattr(constants, field)
    return constants


def with_value(constants: Any, path: list[str], value: float) -> Any:
    first, *rest = path
    return replace(
        constants,
        **{first: with_value(getattr(constants, first), rest, value) if rest else value},
    )


def scaled(value: float, factor: float) -> float:
    if isinstance(value, int):
        return max(1, math.ceil(value * factor))
    return (1 + value) / 2 if factor > 1 and 0.5 <= value < 1 else value * factor


def ratio(new: list[float], old: list[float]) -> str:
    """Geometric mean of new over old, and twice its standard error."""
    logs = [math.log(a / b) for a, b in zip(new, old, strict=True) if not math.isnan(a + b)]
    if not logs:
        return ""
    if not np.isfinite(logs).all():
        return f"{int((~np.isfinite(logs)).sum())} of {len(logs)} fail"
    if not any(logs):
        return "same"
    error = 2 * float(np.std(logs, ddof=1)) / math.sqrt(len(logs))
    return f"{math.exp(np.mean(logs)):.3f} +- {error:.3f}"


@cache
def as_it_is(fit: Fit) -> Measured:
    return measured(fit)


def fits_of(kinds: list[Kind], n_seeds: int) -> list[Fit]:
    """With more seeds where few kinds of fits read a number."""
    n_seeds = max(n_seeds, min(4 * n_seeds, math.ceil(LEAST_FITS / max(len(kinds), 1))))
    return [(*kind, FIRST_SEED + i) for kind in kinds for i in range(n_seeds)]


def row_of(path: str, constants: Any, fits: list[Fit]) -> dict[str, str]:
    rest = path.split(".")[1:]
    value = value_at(constants, path)
    row = {"field": path, "value": f"{value:.6g}", "fits": str(len(fits))}
    base = [as_it_is(fit) for fit in fits]
    losses, errors = {}, {}
    for word, factor in (("half", 0.5), ("double", 2.0)):
        with put(constants, with_value(constants, rest, scaled(value, factor))):
            found = [measured(fit) for fit in fits]
        losses[word] = ratio([a for a, _ in found], [a for a, _ in base])
        errors[f"{word}, variances"] = ratio([b for _, b in found], [b for _, b in base])
    return row | losses | errors


@contextmanager
def noting(constants: dict[str, Any], noted: set[str]) -> Iterator[None]:
    """Note which fields are read."""
    with ExitStack() as stack:
        for name, these in constants.items():
            stack.enter_context(put(these, Reads(these, noted, name)))
        yield


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--only", metavar="FIELD", nargs="+", help="what names of fields contain")
    parser.add_argument("--seeds", type=int, default=3, help="fits of each kind and epsilon")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # seeded noise of public data; odd values
    start, facts, constants = perf_counter(), machine(), all_constants()
    facts["fits"] = f"{options.seeds} seeds or more from {FIRST_SEED}, at epsilon {EPSILONS}"
    # 1. which constants every kind of fit reads
    readers: dict[str, list[Kind]] = {}
    for kind in itertools.product(range(len(FITS)), EPSILONS):
        noted: set[str] = set()
        with noting(constants, noted):
            for i in range(options.seeds):
                measured((*kind, FIRST_SEED + i))
        for field in noted:
            readers.setdefault(field, []).append(kind)
    # 2. every number at half and at double
    rows = {}
    if options.only and (RESULTS / "constants.csv").exists():
        stored, before = load("constants")
        rows = {row["field"]: row for row in stored}
        facts["commit"] = before["commit"]  # of the rows that are not measured now
    known = numbers(constants)
    for path, these in known:
        if options.only and not any(word in path for word in options.only):
            continue
        kinds = readers.get(".".join(path.split(".")[:2]), [])
        # searches take long: only for what no other fit reads
        kinds = [kind for kind in kinds if FITS[kind[0]][1] is not PrivateSearchCV] or kinds

        def measured_row(path: str, these=these, kinds=kinds) -> dict:
            return row_of(path, these, fits_of(kinds, options.seeds))

        rows[path] = kept(measured_row, path)
        print(f"{perf_counter() - start:.0f} s", *rows[path].values(), sep="; ", flush=True)
        facts["seconds"] = f"{perf_counter() - start:.0f}"
    ordered = [rows[path] for path, _ in known if path in rows]
    save("constants", ordered, facts)


if __name__ == "__main__":
    main()
