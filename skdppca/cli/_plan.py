"""``skdppca plan``: what to expect of each method. It reads no data and charges nothing."""

from __future__ import annotations

import argparse
from pathlib import Path

from .. import plotting
from ..decomposition import METHODS
from ..planner import Plan, plan
from ..plotting._common import figure
from ._pictures import save, settings
from ._progress import progress

__all__ = ["PLANNED", "plan_fits"]

# The methods that a plan compares: the name on the command line -> the name in Python.
PLANNED = {method.command: name for name, method in METHODS.items()}


def plan_fits(options: argparse.Namespace) -> None:
    """Simulate, print the table, and draw the picture if it is wanted."""
    if options.plot is not None:
        _check_picture(options.plot)
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
        if options.plot is not None:
            _draw(found, options.over, options.plot)
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


def _check_picture(path: Path) -> None:
    """Refuse a file that cannot be written; raise if matplotlib is missing."""
    if path.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise ValueError(f"--plot {path} must end in .png, .pdf or .svg; choose such a name")
    if not path.parent.is_dir():
        raise ValueError(f"--plot {path} is in no directory that exists; make it first")
    with settings():
        pass


def _draw(found: Plan, over: str, path: Path) -> None:
    with settings():
        canvas = figure(7.2, 4.4)
        plotting.plan(found, {"n": "n_samples"}.get(over, over), canvas.subplots())
        save(canvas, path)
