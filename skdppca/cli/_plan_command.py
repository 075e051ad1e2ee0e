"""``skdppca plan``: what to expect of each method. It reads no data and charges nothing."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from decimal import ROUND_FLOOR, Context
from inspect import signature

from .._text import aligned
from .._text.digits import percent_captured
from ..decomposition import METHODS
from ..planner import Expectation, Plan, plan
from ..plotting import PlanDisplay
from ..privacy import epsilon_of, mu_of
from ._json import Planned
from ._parameter_options import parameters
from ._picture_file import check_picture, draw
from ._progress import moving

# What runs along a table or a picture, as the planner calls it.
AXES = {"epsilon": "epsilon", "n": "n_samples"}

# What ends a spectrum whose last variance is that of all other components, too.
REPEATED = ",..."

# Its parameters are options of the same name.
QUESTION = signature(plan)

# The methods that a plan compares: the name on the command line -> the name in Python.
PLANNED = {method.command: name for name, method in METHODS.items()}


def plan_fits(options: argparse.Namespace) -> None:
    """Simulate, print the table, and draw the picture if it is wanted."""
    if options.plot is not None:
        check_picture(options.plot)
    k, d = options.n_components, options.n_features
    if isinstance(k, int) and k > d:
        raise ValueError(f"-k {k} is more than --d {d}; choose at most {d}")
    methods = None if options.method is None else [PLANNED[name] for name in options.method]
    epsilon = options.epsilon if options.releases == 1 else _each(options)
    with moving() as tell:
        tell("simulating", 0.0)
        own = {
            "epsilon": epsilon,
            "spectrum": _spectrum(options.spectrum, d),
            "methods": methods,
            "progress": lambda method, share: tell(f"simulating {method}", share),
        }
        found = plan(**parameters(options, QUESTION) | own)
        plans = _along(found, options, tell)
    if options.json:
        if options.plot is not None:
            _draw(found, plans, options)
        print(Planned.of(found, plans, options.releases))
        return
    if options.releases > 1:
        print(
            f"Epsilon {options.epsilon:g} at delta {options.delta:g} covers {options.releases} "
            f"fits of --epsilon {epsilon:g} --delta {options.delta:g} each. The plan is for one of "
            "them.\n"
        )
    print(found)
    if options.over is not None:
        print(f"\n{_table(plans, options.over)}")
    if options.plot is not None:
        _draw(found, plans, options)
        print(f"\nWritten: {options.plot}")


def _draw(found: Plan, plans: Sequence[Plan], options: argparse.Namespace) -> None:
    over = AXES[options.over or "epsilon"]
    draw(options.plot, lambda ax: PlanDisplay.from_plan(found, over=over, plans=plans, ax=ax))


def _each(options: argparse.Namespace) -> float:
    """Epsilon of each of several fits of equal cost, rounded down."""
    epsilon, delta, n = options.epsilon, options.delta, options.releases
    part = epsilon_of(mu_of(epsilon, delta) / math.sqrt(n), delta) if delta else epsilon / n
    return float(Context(prec=4, rounding=ROUND_FLOOR).create_decimal_from_float(part))


def _spectrum(text: str | None, d: int) -> str | list[float] | None:
    """Read the name of a spectrum, or numbers with commas between them, the last one repeated."""
    if text is None or not any(letter.isdigit() for letter in text):
        return text
    try:
        found = [float(number) for number in text.removesuffix(REPEATED).split(",")]
    except ValueError:
        raise ValueError(
            f"--spectrum {text} is neither a name nor numbers; give one of the names, or variances "
            "with commas between them"
        ) from None
    if text.endswith(REPEATED):
        found += [found[-1]] * (d - len(found))
    if len(found) != d:
        raise ValueError(
            f"--spectrum has {len(found)} variances, and --d is {d}; give as many variances as "
            f"features, or end with {REPEATED} to repeat the last one, as in --spectrum 60,40,1,..."
        )
    return found


def _along(
    found: Plan, options: argparse.Namespace, tell: Callable[[str, float], None]
) -> tuple[Plan, ...]:
    """The plans of a table or a picture, if one is wanted."""
    if options.over is None and options.plot is None:
        return ()
    axis = AXES[options.over or "epsilon"]
    return found.along(axis, lambda method, share: tell(f"{axis}: {method}", share))


def _table(plans: Sequence[Plan], over: str) -> str:
    """What to expect of the first method of each plan."""
    rows = [
        (
            f"{plan.epsilon:.3g}" if over == "epsilon" else str(plan.n_samples),
            *_captured(plan, first),
            first.method,
        )
        for plan in plans
        for first in plan.rows[:1]
    ]
    return "\n".join(aligned([(over, "captured", "half of all fits", "method"), *rows]))


def _captured(plan: Plan, first: Expectation) -> tuple[str, str]:
    """What its first method captures, and in half of all fits; a range of noise says nothing."""
    if plan.finds_nothing:
        return "nothing", "-"
    return (
        percent_captured(first.captured),
        f"{percent_captured(first.captured_low)} to {percent_captured(first.captured_high)}",
    )
