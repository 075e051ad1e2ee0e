"""A plan in words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ._synthetic import FEATURES

if TYPE_CHECKING:
    from ._expectations import Plan

__all__ = ["assumptions", "percent", "sentence", "table"]

HEADS = (
    "method",
    "captured",
    "missed",
    "half of all fits",
    "noise floor",
    "seen",
    "noise sd",
    "clip norm",
    "memory",
)

# Less is told as nothing.
LEAST_MISSED = 1e-6

ASSUMED = (
    "Assumed: Gaussian rows about the origin, one a record, of the variances of the spectrum; no "
    "data were read. Heavy tails, clusters, a far mean or groups change the figures."
)


def percent(share: float) -> str:
    """A share with so many digits that what is missed of 1 shows."""
    missed = 1.0 - share
    if missed < LEAST_MISSED:
        return "100%"
    return f"{share:.{max(1, math.ceil(-math.log10(missed)) - 1)}%}"


def sentence(plan: Plan) -> str:
    """The answer in a sentence or two."""
    best = plan.rows[0]
    text = (
        f"At n={plan.n_samples}, d={plan.n_features}, k={plan.n_components}, "
        f"epsilon={plan.epsilon:g}, expect {best.percent} of the best possible variance "
        f"from {best.method} (half of all fits: {percent(best.captured_low)} to "
        f"{percent(best.captured_high)})."
    )
    if best.noise_floor == math.inf:
        text += " Under this noise the last component would not be seen, whatever its variance."
    elif best.noise_floor is not None:
        last = plan.variances[plan.n_components - 1]
        text += (
            f" The last component must vary by {best.noise_floor:.3g} to be seen; it is assumed to "
            f"vary by {last:.3g}."
        )
    return text


def table(plan: Plan) -> list[str]:
    """A line a method."""
    cells = [HEADS]
    for row in plan.rows:
        floor, told = row.noise_floor is not None, row.noise_sd is not None
        cells.append(
            (
                row.method,
                f"{row.captured:.3f}",
                f"{1 - row.captured:.1e}",
                f"{1 - row.captured_high:.1e} to {1 - row.captured_low:.1e}",
                f"{row.noise_floor:.3g}" if floor else "-",
                f"{plan.seen(row.method)} of {plan.n_components}" if floor else "-",
                f"{row.noise_sd:.1e}" if told else "-",
                f"{row.clip_norm:.3g}" + " (all)" * (row.clip == "scaled") if told else "-",
                row.memory,
            )
        )
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in cells
    ]
    return [*lines, "", *(f"{row.method} releases {row.releases}." for row in plan.rows)]


def assumptions(plan: Plan) -> str:
    """What the figures rest on."""
    spectrum = "your own" if plan.spectrum == "given" else plan.spectrum
    told = f"spectrum: {spectrum}, delta={plan.delta:g}, {plan.adjacency}. {ASSUMED}"
    if any(row.extrapolated for row in plan.rows):
        told += f" Extrapolated from {FEATURES} features: losses within a factor of about 2."
    return told[0].upper() + told[1:]
