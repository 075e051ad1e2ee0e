"""`plan`: each method's expected accuracy and noise floor, from public numbers alone."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

from ..records import MAX_ROWS
from ._expectations import Plan, filled
from ._methods import METHODS
from ._spectra import check_spectrum
from ._synthetic import FEATURES, MOST_COMPONENTS

__all__ = ["plan"]

ADJACENCIES = ("add-remove", "replace-one")

# Their variances are held one by one.
MOST_FEATURES = 2**24


def plan(
    n_samples: int,
    n_features: int,
    n_components: int,
    epsilon: float = 1.0,
    delta: float = 1e-6,
    *,
    adjacency: str = "add-remove",
    spectrum: Any = None,
    methods: Iterable[str] | None = None,
) -> Plan:
    r"""Expected accuracy and noise floor of each method, before any budget is spent.

    No data are read: the methods themselves run on synthetic rows. Choose epsilon, the number of
    components or the method by it, freely and as often as you like.

    Parameters
    ----------
    n_samples : int
        Records; under add-remove their number is private, so give a public guess.
    n_features : int
        Beyond 400 the answer is extrapolated.
    n_components : int
        At most `n_features`; at most 100 where it is extrapolated.
    epsilon : float, default=1.0
    delta : float, default=1e-6
    adjacency : {"add-remove", "replace-one"}, default="add-remove"
    spectrum : str or array-like of shape (n_features,), optional
        What is assumed of the data: variances along the principal axes (public guesses, or from
        public data of the kind; eigenvalues of the private data are private), or one of

        - "power-law" (default): the j-th is ``1 / j``;
        - "spiked": components from 10 down to 5 times the variance of all other directions;
        - "flat": all the same. Nothing is to be found, so every method captures nearly all; what
          it tells is the noise floor.

        The first variance of these is 1.
    methods : iterable of str, optional
        Names of estimators; by default all of `skdppca.planner`'s.

    Returns
    -------
    Plan
        Best first. ``print`` it; `Plan.to_dict` gives rows for a table, and
        `skdppca.plotting.plan` a picture.

    Raises
    ------
    ValueError, TypeError
        Invalid parameters, with a remedy.

    Notes
    -----
    Noise, clipping and every search of a method depend on ``n_samples`` times its Gaussian-DP
    parameter mu alone, as long as there are some hundred records. So at most 2000 rows are drawn
    and fitted at a budget of ``mu n / 2000``, with the covariance that n rows would have. What
    the simulated rows lose by sampling is told from what noise loses by what fits to the same
    rows have in common, and shrunk by ``2000 / n``. Seeds are public and fixed: the same
    question has the same answer.

    Checked against fits at full size: ``benchmarks/bench_planner.py``, on settings that no
    constant was chosen on.

    Examples
    --------
    >>> from skdppca.planner import plan
    >>> found = plan(5000, 20, 3, epsilon=1.0, methods=["DPGauss"])
    >>> bool(0.9 < found["DPGauss"].captured < 1)
    True
    """
    n_samples = _integer("n_samples", n_samples, 2, MAX_ROWS)
    n_features = _integer("n_features", n_features, 1, MOST_FEATURES)
    n_components = _integer("n_components", n_components, 1, n_features)
    if n_features > FEATURES and n_components > MOST_COMPONENTS:
        raise ValueError(
            f"n_components={n_components} with n_features={n_features} cannot be simulated; plan "
            f"for at most {MOST_COMPONENTS} components, or {FEATURES} features"
        )
    if not isinstance(epsilon, Real) or not 0 < epsilon < math.inf:
        raise ValueError(
            f"epsilon={epsilon!r} is no budget; give a number above 0 (without noise, all "
            "methods are sklearn.decomposition.PCA)"
        )
    if not isinstance(delta, Real) or not 0 < delta < 1:
        raise ValueError(f"delta={delta!r} must lie between 0 and 1; well below 1 / n_samples")
    if adjacency not in ADJACENCIES:
        raise ValueError(f"adjacency={adjacency!r} is none of {ADJACENCIES}; choose one")
    name, variances = check_spectrum(spectrum, n_features, n_components)
    empty = Plan(
        n_samples,
        n_features,
        n_components,
        float(epsilon),
        float(delta),
        adjacency,
        name,
        tuple(map(float, variances)),
        (),
    )
    return filled(empty, _names(methods), floors=True)


def _integer(name: str, value: Any, least: int, most: int) -> int:
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise TypeError(f"{name}={value!r} is not a whole number; give an int")
    if not least <= value <= most:
        raise ValueError(f"{name}={value} must be between {least} and {most}; choose such a number")
    return int(value)


def _names(methods: Iterable[str] | None) -> list[str]:
    if methods is None:
        return list(METHODS)
    single = isinstance(methods, str) or not isinstance(methods, Iterable)
    names = [methods] if single else list(dict.fromkeys(methods))
    unknown = [name for name in names if name not in METHODS]
    if unknown or not names:
        raise ValueError(f"methods={names} must be some of {list(METHODS)}; {unknown} are not")
    return names
