"""What is read off nested spheres: components, their error bars, and variances."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Integral

import numpy as np

from ..private_data import PrivateData
from ..statistics import clip_measure
from .base import BUDGET, Release
from .clipping import radius_share
from .gram import NoisyGram
from .missing import share_present
from .nested_spheres import NestedSpheres, first_sphere, nested_spheres, sphere_costs
from .norm_histogram import HISTOGRAM, norm_histogram
from .spectrum import NoisySpectrum, count_components, elliptical_variances

# Why there are no variances: in the report, and where one asks for them.
UNSEEN = (
    "the noise hides how long the records are, which is the scale of the variances; set a larger "
    "epsilon, or give more records"
)


def release_nested(
    data: PrivateData,
    n_components: int | float | str | None,
    n_rows: float,
    *,
    radius: float | None = None,
    typical_norm: float | None = None,
    start: NoisyGram | None = None,
    variances: bool = True,
    is_clear: Callable[[NoisySpectrum], bool] | None = None,
    instead: Callable[[NoisyGram], Release] | None = None,
) -> Release:
    """Spend all that is left on nested spheres, and on how long the records are.

    Parameters
    ----------
    n_components : int or "auto"
    n_rows : float
        Public or released.
    radius, start
        See `sphere_costs`.
    typical_norm : float, optional
        About the median of what records are clipped by (`clip_measure`), if it was released.
    variances : bool
        Whether variances are released; it costs a look at lengths.
    is_clear, instead : callable, optional
        Whether the spectrum of the first matrix shows enough; what is then released of that matrix,
        for all that is left.
    """
    # 1. the spheres, with all but what a look at the lengths of the scores costs
    mu_length = 0.0
    if variances:
        most = BUDGET.most_look_share if typical_norm is None else BUDGET.question_share
        mu_length = radius_share(data, BUDGET.question_share, most)
    mu = math.sqrt(data.remaining**2 - mu_length**2) * (1 - 1e-12)
    wanted = int(n_components) if isinstance(n_components, Integral) else 1
    costs = sphere_costs(data, wanted, mu, radius, start)
    first = start or first_sphere(data, costs)
    found = nested_spheres(data, costs, first, radius, is_clear)
    if found is None:
        assert instead is not None
        return instead(first)
    typical_norm = _length(found, typical_norm, mu_length) if variances else None
    known = typical_norm is not None
    # 2. eigenvalues without the noise's share: what cannot be seen shares what is left
    spectrum, grouped = found.spectrum, data.public.grouped
    visible = spectrum.visible
    floor = max((found.trace - visible.sum()) / len(visible), spectrum.noise_sd)
    values = floor + visible
    # 3. of the scores' directions, under an elliptical model; of groups as if all were as long
    per_row = max(n_rows - 1, 1.0)
    shares = values / per_row if grouped else np.sort(elliptical_variances(values))[::-1]
    inside = shares * (typical_norm or 1.0) ** 2 / share_present(data.present)
    # 4. other directions vary no more than those that were kept
    d, p = data.n_features, len(inside)
    rest = min(inside.sum() * (1 / found.shorter - 1) / max(d - p, 1), inside[-1])
    variance = np.append(inside, np.full(d - p, rest))
    k = count_components(n_components, spectrum, values, n_rows)
    unit = (typical_norm or 1.0) ** 2 if grouped else 1.0
    details = {
        "clip": "nested",
        "norm_bound": math.sqrt(unit),
        "noise_sd": unit * spectrum.noise_sd,
        "alignments": (spectrum.alignments * found.kept)[:k],
        "subspaces": found.dimensions,
    }
    if known:
        edge = unit * (floor + spectrum.half_width) / per_row
        details |= {"noise_edge": edge, "spectrum": variance}
    elif variances:
        details["no_variances"] = UNSEEN
    return Release(
        components=found.components(k),
        centre=found.data.centre,
        n_samples=data.n,
        explained_variance=variance[:k] if known else None,
        total_variance=float(variance.sum()) if known else None,
        noise_variance=float(variance[k:].mean()) if known else None,
        n_rows=n_rows if known else None,
        details=details,
    )


def _length(found: NestedSpheres, expected: float | None, mu: float) -> float | None:
    """About the median of what scores are clipped by; None if the noise hides it.

    A window of mere noise may lie anywhere, and would put the variances off by any factor.
    """
    scores = found.scores
    measure = clip_measure(scores.centre, 0.0, scores.public.grouped)
    seen = norm_histogram(scores, measure, mu, "length in the subspace")
    if seen.z > HISTOGRAM.seen:
        return seen.median
    if expected is None:
        return None
    near = seen.near(expected * math.sqrt(found.shorter))
    return near.median if near.z > HISTOGRAM.next_seen else None
