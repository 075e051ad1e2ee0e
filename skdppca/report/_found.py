"""What a release found, as the same table for the page, the notebook and the shell."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from .._text import digits, shown
from ..privacy import PrivacyReport
from ..privacy.fit_report import drifts, no_scales
from ._document import report_of

# The first section of a report.
FIRST = "Decision box"

# Components that the table has.
MOST_LINES = 8

# Columns that are not of numbers.
WORDS = ("alignment", "largest loadings")

LOST = "lost in the noise"

RANGES = (
    "The range shows how far the privacy noise may have moved this share. Other people would move "
    "it further; the range leaves that out."
)
CLIPPED = (
    "The range shows how far the privacy noise may have moved this share. The fit shortens extreme "
    "records, so the true share may be larger. Other people would move it further; the range "
    "leaves that out."
)
BRACKETS = "In brackets: loadings that the privacy noise alone can explain."
NO_BRACKETS = "This fit cannot say how precise each loading is. Read the large ones only."

# Sds about 0 that hold 95 % of Laplace noise, and more of Gaussian noise.
WITHIN = 2.12


class Found(NamedTuple):
    """The components of a fit: sentences about a table, its cells, and what its marks mean.

    Parameters
    ----------
    warnings : list of str
    headline : str
    heads : list of str
    rows : list of tuple of str
    words : list of int
        The columns that are not of numbers.
    notes : list of str
    """

    warnings: list[str]
    headline: str
    heads: list[str]
    rows: list[tuple[str, ...]]
    words: list[int]
    notes: list[str]


def found(document: Mapping[str, Any]) -> Found | None:
    """Return the components of a release; None if it has none.

    Parameters
    ----------
    document : dict
        What a report holds, as JSON-able values.
    """
    document = shown(document)
    results, report = document["results"], report_of(document)
    if results is None:
        return None
    columns = _columns(results["components"][:MOST_LINES])
    return Found(
        [*no_scales(report), *(f"{line}." for line in drifts(report))],
        headline(results, report),
        list(columns),
        list(zip(*columns.values(), strict=True)),
        [i for i, head in enumerate(columns) if head in WORDS],
        list(_notes(results, report)),
    )


def headline(results: Mapping[str, Any], report: PrivacyReport) -> str:
    """Say how many components there are, of how many features and records."""
    k, n, unit = results["n_components"], results["n_records"], report.unit
    text = f"{k} component{'s' if k > 1 else ''} of {results['n_features']} features"
    if n is None:
        return f"{text}."
    scales = [one.noise_sd for one in report.spendings if one.name == "number of records"]
    records = "records" if unit == "row" else f"records, each one {unit}"
    if not results["n_records_is_noisy"]:
        return f"{text}, from {digits.count(float(n))} {records}."
    give = WITHIN * max(scales, default=0.0) * _of_fits(report.details)
    range_ = f" (95 %: give or take {digits.up(give, 2)})" if scales else ""
    return f"{text}, from about {digits.count(float(n))} {records}{range_}."


def _is_lost(one: Mapping[str, Any]) -> bool:
    """Whether a component is below the noise floor."""
    return one["alignment"] is not None and one["alignment"] <= 0


def _of_fits(details: Mapping[str, Any]) -> float:
    """Return the noise of all joined fits' counts over that of the last: a share of mu^2 each."""
    mus = [float(fit["mu"]) for fit in details.get("joined", ())]
    if not mus or not all(math.isfinite(mu) and mu > 0 for mu in mus):
        return 1.0
    return math.sqrt(sum((mus[-1] / mu) ** 2 for mu in mus))


def _columns(components: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return the columns of a table with a line for each component; none of what has no values."""
    columns = {
        "component": [str(number) for number in range(1, len(components) + 1)],
        "share of variance": [_share(one["share"]) for one in components],
        "95 % range": [_range(one) for one in components],
        "alignment": [_alignment(one["alignment"]) for one in components],
        "largest loadings": [", ".join(_loadings(one)) for one in components],
    }
    return {head: cells for head, cells in columns.items() if any(cells)}


def _notes(results: Mapping[str, Any], report: PrivacyReport) -> Iterator[str]:
    listed = results["components"][:MOST_LINES]
    if math.isfinite(report.epsilon):
        if any(map(_range, listed)):
            yield CLIPPED if "clipped_variances" in report.details else RANGES
        if any(text.startswith("(") for one in listed for text in _loadings(one)):
            yield BRACKETS
        entries = [entry for one in listed if not _is_lost(one) for entry in one["largest"]]
        if any(entry["noise"] is None for entry in entries):
            yield NO_BRACKETS
    if results["n_components"] > len(listed):
        yield beyond(results["n_components"] - len(listed))


def beyond(number: int) -> str:
    """Where the components are that a table leaves out."""
    return f"components.csv holds {number} more component{'s' if number > 1 else ''}."


def _share(share: float | None) -> str:
    return "" if share is None else f"{digits.percent(float(share))} %"


def _range(one: Mapping[str, Any]) -> str:
    """The range of the variance, as shares of the same total."""
    if one["range"] is None or not float(one["share"] or 0) or not float(one["variance"]):
        return ""
    total = float(one["variance"]) / float(one["share"])
    ends = [min(float(end) / total, 1.0) for end in one["range"]]  # no share is larger
    return " to ".join(map(digits.percent, ends)) + " %"


def _alignment(alignment: float | None) -> str:
    """The alignment, rounded down."""
    if alignment is None:
        return ""
    return LOST if alignment <= 0 else f"{int(100 * float(alignment) + 1e-9) / 100:.2f}"


def _loadings(one: Mapping[str, Any]) -> Iterator[str]:
    """The largest loadings of a component; in brackets those that noise alone can explain."""
    for entry in one["largest"]:
        text = f"{entry['feature']} {entry['entry']:+.2f}"
        yield f"({text})" if _is_lost(one) or entry["noise"] else text
