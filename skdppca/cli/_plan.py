"""``skdppca plan``: what to expect of each method. It reads no data and charges nothing."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from .. import plotting
from ..decomposition import METHODS
from ..planner import Plan, plan
from ..plotting._common import figure
from ._progress import progress

__all__ = ["PLANNED", "plan_fits"]

# The methods that a plan compares: the name on the command line -> the name in Python.
PLANNED = {method.command: name for name, method in METHODS.items()}

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


def _canvas(path: Path) -> Any:
    """Return a figure for a file that can be written; raise if matplotlib is missing."""
    if path.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise ValueError(f"--plot {path} must end in .png, .pdf or .svg; choose such a name")
    if not path.parent.is_dir():
        raise ValueError(f"--plot {path} is in no directory that exists; make it first")
    return figure(7.2, 4.4)


def _draw(found: Plan, over: str, figure: Any, path: Path) -> None:
    plotting.plan(found, {"n": "n_samples"}.get(over, over), figure.subplots())
    figure.savefig(path, dpi=DOTS_PER_INCH)
