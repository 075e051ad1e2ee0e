"""``skdppca plan``: what to expect of each method. It reads no data and charges nothing."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from ..decomposition import METHODS
from ..planner import Plan, plan
from ..plotting import PlanDisplay
from ..plotting._common import figure
from ._pictures import check_picture, save, settings
from ._progress import moving

__all__ = ["PLANNED", "plan_fits"]

# The methods that a plan compares: the name on the command line -> the name in Python.
PLANNED = {method.command: name for name, method in METHODS.items()}


def plan_fits(options: argparse.Namespace) -> None:
    """Simulate, print the table, and draw the picture if it is wanted."""
    if options.plot is not None:
        check_picture(options.plot)
    methods = None if options.method is None else [PLANNED[name] for name in options.method]
    with moving() as tell:
        tell("simulating", 0.0)
        found = plan(
            options.n,
            options.d,
            options.components,
            options.epsilon,
            options.delta,
            adjacency=options.adjacency,
            group_size=options.groups,
            shared=options.shared,
            scale=options.scale,
            missing=options.missing,
            tails=options.tails,
            gap=options.gap,
            is_sparse=options.sparse,
            spectrum=_spectrum(options.spectrum),
            methods=methods,
            progress=lambda method, share: tell(f"simulating {method}", share),
        )
        if options.plot is not None:
            _draw(found, options.over, options.plot, tell)
    print(found)
    if options.plot is not None:
        print(f"\nWritten: {options.plot}")


def _spectrum(text: str) -> str | list[float]:
    """Read the name of a spectrum, or numbers with commas between them."""
    if not any(letter.isdigit() for letter in text):
        return text
    try:
        return [float(number) for number in text.split(",")]
    except ValueError:
        raise ValueError(
            f"--spectrum {text} is neither a name nor numbers; give one of the names, or variances "
            "with commas between them"
        ) from None


def _draw(found: Plan, over: str, path: Path, tell: Callable[[str, float], None]) -> None:
    along = {"n": "n_samples"}.get(over, over)
    plans = found.along(along, lambda method, share: tell(f"drawing {method}", share))
    with settings():
        canvas = figure(7.2, 4.4)
        PlanDisplay.from_plan(found, over=along, plans=plans, ax=canvas.subplots())
        save(canvas, path)
