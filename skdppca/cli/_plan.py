"""``skdppca plan``: what to expect of each method, before any budget is spent or data are read."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from .. import plotting
from ..planner import Plan, plan
from ..plotting._common import figure
from ._fit import METHODS
from ._progress import progress

__all__ = ["PLANNED", "plan_fits"]

# The methods of `skdppca fit` that a plan compares, by the names that they have there.
PLANNED = {name: one.__name__ for name, one in METHODS.items() if name != "auto"}

DOTS_PER_INCH = 150


def plan_fits(options: argparse.Namespace) -> None:
    """Simulate, print the table, and draw the picture if it is wanted."""
    figure = None if options.plot is None else _canvas(options.plot)
    methods = None if options.method is None else [PLANNED[name] for name in options.method]
    with progress(2) as step:
        step("simulating")
        found = plan(
            options.n,
            options.d,
            options.components,
            options.epsilon,
            options.delta,
            adjacency=options.adjacency,
            spectrum=_spectrum(options.spectrum),
            methods=methods,
        )
        step("drawing")
        if figure is not None:
            _draw(found, options.over, figure, options.plot)
    print(found)
    if figure is not None:
        print(f"\nWritten: {options.plot}")


def _spectrum(text: str) -> str | list[float]:
    """A name, or numbers with commas between them."""
    if not any(letter.isdigit() for letter in text):
        return text
    try:
        return [float(number) for number in text.split(",")]
    except ValueError:
        raise ValueError(
            f"--spectrum {text} is neither a name nor numbers; give one of the names, or variances "
            "with commas between them"
        ) from None


def _canvas(path: Path) -> Any:
    """A figure, if there is matplotlib, for a file that can be written."""
    if path.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise ValueError(f"--plot {path} must end in .png, .pdf or .svg; choose such a name")
    if not path.parent.is_dir():
        raise ValueError(f"--plot {path} is in no directory that exists; make it first")
    return figure(7.2, 4.4)


def _draw(found: Plan, over: str, figure: Any, path: Path) -> None:
    plotting.plan(found, {"n": "n_samples"}.get(over, over), figure.subplots())
    figure.savefig(path, dpi=DOTS_PER_INCH)
