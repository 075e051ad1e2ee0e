"""The public facts that a plan is made for, and what `PrivatePCA` chooses by them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np

from .._sklearn import Interval, StrOptions
from ..decomposition import METHODS, BasePrivatePCA, PrivatePCA
from ..decomposition.methods import NAMES
from ..decomposition.parameters import check_parameters
from ..decomposition.private_pca import for_heavy_tails
from ..privacy import mu_of
from ..private_data import Public
from ..records import MAX_ROWS
from .simulation import SIMULATION, Problem
from .synthetic_rows import SPECTRA, Assumed

# The variances are held one by one.
MOST_FEATURES = 2**24

CONSTRAINTS = {
    "n_samples": [Interval(Integral, 2, MAX_ROWS, closed="both")],
    "n_features": [Interval(Integral, 1, MOST_FEATURES, closed="both")],
    "group_size": [Interval(Integral, 1, MAX_ROWS, closed="both"), None],
    "n_components": BasePrivatePCA._parameter_constraints["n_components"],
    "epsilon": [Interval(Real, 0, None, closed="neither")],  # at inf there is nothing to plan
    "delta": PrivatePCA._parameter_constraints["delta"],
    "adjacency": BasePrivatePCA._parameter_constraints["adjacency"],
    "shared": [Interval(Real, 0, 1, closed="both")],
    "scale": [StrOptions({"private"}), None],
    "missing": BasePrivatePCA._parameter_constraints["missing"],
    "tails": PrivatePCA._parameter_constraints["tails"],
    "gap": PrivatePCA._parameter_constraints["gap"],
    "is_sparse": ["boolean"],
    "spectrum": [StrOptions(set(SPECTRA)), "array-like", None],
    "methods": [StrOptions(set(METHODS)), Iterable, None],
}


@dataclass(frozen=True)
class PlannedFit:
    """Public facts and assumptions of a fit; see `Plan`."""

    n_samples: int
    n_features: int
    n_components: int
    epsilon: float
    delta: float
    adjacency: Literal["add-remove", "replace-one"]
    spectrum: str
    variances: tuple[float, ...]
    group_size: int | None
    shared: float
    scale: Literal["private"] | None
    missing: Literal["error", "mean"]
    tails: Literal["heavy", "light"]
    gap: Literal["large", "unknown"]
    is_sparse: bool
    wanted: int | float | Literal["auto", "mle"] | None

    @property
    def sees_spectrum(self) -> bool:
        """True if the number of components is to be chosen from the released spectrum."""
        return not (self.wanted is None or isinstance(self.wanted, int))

    @property
    def public(self) -> Public:
        """Public facts that `PrivatePCA` looks at beside its parameters."""
        unit = "row" if self.group_size is None else "record"
        return Public(self.n_features, self.adjacency, unit, self.is_sparse)

    def chosen(self) -> tuple[str, str]:
        """Return the method that `PrivatePCA` takes, and why.

        Raises
        ------
        ValueError
            If no fit with these parameters is possible.
        """
        if self.delta == 0 and (self.scale is not None or self.sees_spectrum):
            raise ValueError(
                f"delta=0 leaves no Gaussian noise for scale={self.scale!r} and "
                f"n_components={self.wanted!r}; give scale=None and a number of components, or a "
                "small delta such as 1e-6"
            )
        pca = PrivatePCA(
            self.wanted,
            epsilon=self.epsilon,
            delta=self.delta,
            adjacency=self.adjacency,
            unit=self.public.unit,
            scale=self.scale,
            missing=self.missing,
            tails=self.tails,
            gap=self.gap,
        )
        return pca._choice(self.public)

    def problem(self, name: str, law: str = "normal") -> Problem:
        """Return what is simulated of a method, set as `PrivatePCA` sets it; see `Assumed`."""
        settings: dict[str, Any] = {}
        if self.delta == 0:
            settings = {"noise": "student"}
            if self.group_size is not None:
                settings["variance_share"] = 0
        elif self.tails == "heavy":
            settings = for_heavy_tails(name, grouped=self.group_size is not None)
        return Problem(
            name,
            settings,
            self.n_samples,
            np.array(self.variances),
            self.n_components,
            self.n_samples * (mu_of(self.epsilon, self.delta) if self.delta else self.epsilon),
            self.delta,
            self.adjacency,
            Assumed(self.group_size, self.shared, self.scale, self.missing, self.tails, law),
        )


def checked(given: dict[str, Any]) -> dict[str, Any]:
    """Return the public facts among the arguments of `plan`, as Python's own numbers.

    Invalid ones are refused, but for the spectrum's numbers, which are checked with their count.
    """
    check_parameters(CONSTRAINTS, given, "plan")
    d, k = given["n_features"], given["n_components"]
    counted = isinstance(k, Integral)
    if isinstance(given["spectrum"], str) and given["spectrum"] == "spiked" and not counted:
        raise ValueError(
            f"spectrum='spiked' has as many spikes as components, but n_components={k!r}; give a "
            "number, or variances"
        )
    if counted and k > d:
        raise ValueError(f"n_components={k} exceeds n_features={d}; choose at most {d}")
    if d > SIMULATION.most_features and not (counted and k <= SIMULATION.most_components):
        raise ValueError(
            f"n_components={k!r} with n_features={d} cannot be simulated; give a number of at most "
            f"{SIMULATION.most_components}, or plan for {SIMULATION.most_features} features"
        )
    plain = {
        name: given[name].item() if isinstance(given[name], np.generic) else given[name]
        for name in CONSTRAINTS
        if name not in ("spectrum", "methods")
    }
    return plain | {name: float(plain[name]) for name in ("epsilon", "delta", "shared")}


def methods_of(methods: Iterable[str] | None, planned: PlannedFit) -> list[str]:
    """Return the names of the methods, each once; by default all that can be fitted."""
    possible = [name for name in METHODS if _can(name, planned)]
    if methods is None:
        return possible
    asked = [methods] if isinstance(methods, str) else list(methods)
    names = [NAMES.get(name, name) if isinstance(name, str) else name for name in asked]
    if not names or any(name not in list(METHODS) for name in names):
        raise ValueError(f"methods={names} must be one or more of {list(METHODS)}; choose of these")
    if any(name not in possible for name in names):
        raise ValueError(
            f"methods={names} cannot all be planned with n_components={planned.wanted!r} "
            f"and delta={planned.delta:g}; choose of {possible}"
        )
    return list(dict.fromkeys(names))


def _can(name: str, planned: PlannedFit) -> bool:
    """Return whether a method can be fitted so, and is no other one then."""
    if planned.delta == 0:
        return name == "SmoothSensitivityPCA"
    if planned.sees_spectrum:
        return METHODS[name].spectral and name != "ResidualGauss"  # which is DPGauss then
    return True
