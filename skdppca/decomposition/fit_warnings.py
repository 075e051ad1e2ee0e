"""Warnings of steps before a fit that read the rows, and of a fit that found noise only."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

from sklearn.utils import get_tags

from ..exceptions import NoiseOnlyWarning, UnaccountedStepWarning
from ..privacy import PrivacyReport
from ..privacy.charging import charged_elsewhere
from ..privacy.user_warnings import calls_below_user, level_of_user
from ..records import MAX_ROWS


def warn_of_steps_before(estimator: Any) -> None:
    """Warn if this fit is a Pipeline's, and a step before it learned from the records.

    It looks at the calls between the user's own and this one, and at the steps' classes and
    parameters: never at what they learned.
    """
    if charged_elsewhere() or estimator.epsilon == math.inf:
        return
    step: Any = estimator
    learned: list[str] = []
    for call in calls_below_user("sklearn.pipeline"):
        pipeline = call.f_locals.get("self")
        steps = [] if pipeline is step else getattr(pipeline, "steps", [])
        place = _place(step, [one for _, one in steps])
        if place is not None:
            learned = [
                f"{name} ({type(one).__name__})"
                for name, one in steps[:place]
                if learns(one) and not hasattr(one, "privacy_")
            ] + learned
            step = pipeline
    if not learned:
        return
    one = len(learned) == 1
    warnings.warn(
        f"{'a step' if one else 'steps'} before {type(estimator).__name__} learned from the "
        f"records without privacy: {', '.join(learned)}. The stated epsilon is wrong, because "
        f"nothing was charged for {'that step' if one else 'those steps'}. Leave "
        f'{"it" if one else "them"} out: scale="private" replaces a scaler (beside one-hot '
        'columns scale={"age": "private"}, by names of columns), and missing="mean" an imputer. '
        "An encoder learns nothing if you give it the categories",
        UnaccountedStepWarning,
        stacklevel=level_of_user(),
    )


def _place(step: Any, steps: list[Any]) -> int | None:
    """Where a step is in a Pipeline, which fits a clone of it if it has a memory."""
    same = [i for i, one in enumerate(steps) if one is step]
    alike = [i for i, one in enumerate(steps) if type(one) is type(step)]
    return same[0] if same else alike[0] if len(alike) == 1 else None


def does_nothing(step: Any) -> bool:
    """Return whether a step of a Pipeline passes on its input unchanged."""
    return step is None or isinstance(step, str)  # "passthrough" or "drop"


def learns(step: Any) -> bool:
    """Return whether a step's output for a row may depend on others, by class and parameters."""
    from sklearn.compose import ColumnTransformer
    from sklearn.frozen import FrozenEstimator
    from sklearn.pipeline import FeatureUnion, Pipeline
    from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, PolynomialFeatures

    if does_nothing(step) or isinstance(step, FrozenEstimator):
        return False
    if isinstance(step, Pipeline):
        return any(learns(inner) for _, inner in step.steps)
    if isinstance(step, FeatureUnion):
        return any(learns(inner) for _, inner in step.transformer_list)
    if isinstance(step, ColumnTransformer):
        return any(learns(inner) for _, inner, _ in step.transformers) or learns(step.remainder)
    if isinstance(step, PolynomialFeatures):  # it learns how many columns there are
        return False
    if isinstance(step, OneHotEncoder | OrdinalEncoder) and not isinstance(step.categories, str):
        return step.min_frequency is not None or step.max_categories is not None
    try:
        return bool(get_tags(step).requires_fit)
    except AttributeError:  # it is no estimator of scikit-learn's kind, so nothing is known
        return True


@dataclass(frozen=True)
class NoiseOnlyConstants:
    """Margin on the number of records that would show the first component."""

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
    """Return a sufficient number of records, in words; "more records" if that is unknown."""
    n = records_needed(report, n_features)
    if n is None or n <= n_samples or n > MAX_ROWS:
        return "more records"
    return (
        f"about {float(f'{n:.1g}'):.0f} records (enough if the first of {n_features} "
        f"components holds {_first_share(n_features):.0%} of the variance)"
    )


def records_needed(report: PrivacyReport, n_features: int) -> float | None:
    r"""Return the number of records that show a first component at the same noise; None if unknown.

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
