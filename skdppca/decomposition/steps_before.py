"""The steps of a Pipeline before a private one: which learn from the records, and a warning."""

from __future__ import annotations

import math
import warnings
from typing import Any

from sklearn.utils import get_tags

from ..exceptions import UnaccountedStepWarning
from ..privacy.charging import charged_elsewhere
from ..privacy.user_warnings import calls_below_user, level_of_user


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
        f'{"it" if one else "them"} out: scale="private" replaces a scaler, and '
        'missing="mean" an imputer. An encoder learns nothing if you give it the categories',
        UnaccountedStepWarning,
        stacklevel=level_of_user(),
    )


def _place(step: Any, steps: list[Any]) -> int | None:
    """Where a step is in a Pipeline, which fits a clone of it if it has a memory."""
    same = [i for i, one in enumerate(steps) if one is step]
    alike = [i for i, one in enumerate(steps) if type(one) is type(step)]
    return same[0] if same else alike[0] if len(alike) == 1 else None


def does_nothing(step: Any) -> bool:
    """Whether a step of a Pipeline hands on what it is given."""
    return step is None or isinstance(step, str)  # "passthrough" or "drop"


def learns(step: Any) -> bool:
    """Whether what a step makes of a row may depend on other rows, by its class and parameters."""
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
