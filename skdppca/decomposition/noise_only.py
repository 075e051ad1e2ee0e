"""A warning where people look, if a fit found nothing: made of released numbers alone."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

from ..exceptions import NoiseOnlyWarning
from ..privacy import PrivacyReport
from ..privacy.charging import charged_elsewhere
from ..privacy.user_warnings import level_of_user
from ..records import MAX_ROWS


@dataclass(frozen=True)
class NoiseOnlyConstants:
    """How many records would show the first component."""

    # Multiple of what brings it to half an alignment, for less noise in all that is found besides.
    # Measured on normal rows of 8 to 200 features whose variances fall as 1 / j: of 120 fits of
    # DPGauss and ResidualGauss, 117 saw a component with 3, and 110 with 2.
    margin: float = 3.0


NOISE_ONLY = NoiseOnlyConstants()


def warn_of_noise(pca: Any) -> None:
    """Warn if all components of a fit are lost in its noise; of a candidate nothing is said."""
    aligned = pca.privacy_.details.get("alignments", ())
    if charged_elsewhere() or not len(aligned) or any(value > 0 for value in aligned):
        return
    which = "the one component is" if len(aligned) == 1 else f"all {len(aligned)} components are"
    enough = enough_records(pca.privacy_, pca.n_features_in_, pca.n_samples_)
    warnings.warn(
        f"{which} lost in the noise, so do not interpret what was released. To find something, "
        f"fit with a larger epsilon or with {enough}. That fit is charged separately. "
        "skdppca.planner.plan says what would do, and reads no data.",
        NoiseOnlyWarning,
        stacklevel=level_of_user(),
    )


def enough_records(report: PrivacyReport, n_features: int, n_samples: float) -> str:
    """How many records would do, in words; "more records" if no such number is known."""
    n = records_needed(report, n_features)
    if n is None or n <= n_samples or n > MAX_ROWS:
        return "more records"
    return (
        f"about {float(f'{n:.1g}'):.0f} records (enough if the first of {n_features} "
        f"components holds {_first_share(n_features):.0%} of the variance)"
    )


def records_needed(report: PrivacyReport, n_features: int) -> float | None:
    r"""How many records would show a first component, at the same noise; None if it is not known.

    The Gram matrix of n records of norm R or less has the eigenvalue ``n R^2 s``, where s is the
    first component's share of the variance. Noise of sd tau off the diagonal turns that component
    to an alignment of one half if the eigenvalue is ``tau sqrt(2 d)``. The share is that of
    variances that fall as 1 / j, the planner's default.
    """
    noise_sd, bound = report.details.get("noise_sd"), report.details.get("norm_bound")
    if not noise_sd or not bound:
        return None
    half = math.sqrt(n_features) * float(noise_sd) / float(bound) ** 2
    return NOISE_ONLY.margin * half / _first_share(n_features)


def _first_share(d: int) -> float:
    """The first component's share of variances that fall as 1 / j."""
    return 1 / math.fsum(1 / j for j in range(1, d + 1))
