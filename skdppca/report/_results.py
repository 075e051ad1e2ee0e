"""A release as text: its table of components, its page, and its lines in a shell or notebook."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from .._text import INTERACTION, aligned, digits, is_one, printable, protected_together, shown
from ..decomposition.fit_warnings import enough_records
from ..privacy import PrivacyReport
from ..privacy.fit_report import drifts, no_scales
from ..privacy.parts import is_merged
from ._document import report_of
from ._pictures import Picture
from ._sections import budget, claim, page_facts, sentence, status_of, templates, words

# Components that the table has.
MOST_LINES = 8

# Written where a share has no range.
ROUGH = "rough"

# From this alignment on, noise has turned a component by less than 19 degrees.
CLEAR = 0.9

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
    notes : list of str
    """

    warnings: list[str]
    headline: str
    heads: list[str]
    rows: list[tuple[str, ...]]
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
    columns = _columns(results["components"][:MOST_LINES], math.isfinite(report.epsilon))
    return Found(
        [*no_scales(report), *(f"{line}." for line in drifts(report))],
        headline(results, report),
        list(columns),
        list(zip(*columns.values(), strict=True)),
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
    public = report.adjacency == "replace-one" or report.unit == INTERACTION
    if public or math.isinf(report.epsilon):
        return f"{text}, from {digits.count(float(n))} {records}."
    give = WITHIN * max(scales, default=0.0) * _of_fits(report.details)
    range_ = f" (95 %: give or take {digits.up(give, 2)})" if scales else ""
    return f"{text}, from about {digits.count(float(n))} {records}{range_}."


def _is_lost(one: Mapping[str, Any]) -> bool:
    """Return whether a component is below the noise floor."""
    return one["alignment"] is not None and one["alignment"] <= 0


def _of_fits(details: Mapping[str, Any]) -> float:
    """Return the noise of all joined fits' counts over that of the last: a share of mu^2 each."""
    mus = [float(fit["mu"]) for fit in details.get("joined", ())]
    if not mus or not all(math.isfinite(mu) and mu > 0 for mu in mus):
        return 1.0
    return math.sqrt(sum((mus[-1] / mu) ** 2 for mu in mus))


def _columns(components: Sequence[Mapping[str, Any]], noisy: bool) -> dict[str, list[str]]:
    """Return the columns of a table with a line for each component; none of what has no values."""
    rough = [ROUGH if noisy and one["share"] is not None else "" for one in components]
    columns = {
        "component": [str(number) for number in range(1, len(components) + 1)],
        "share of variance": [_share(one["share"]) for one in components],
        "95 % range": [
            _range(one) or unsure for one, unsure in zip(components, rough, strict=True)
        ],
        "alignment": [_alignment(one["alignment"]) for one in components],
        "largest loadings": [", ".join(_loadings(one)) for one in components],
    }
    return {head: cells for head, cells in columns.items() if any(cells)}


def _notes(results: Mapping[str, Any], report: PrivacyReport) -> Iterator[str]:
    listed = results["components"][:MOST_LINES]
    if math.isfinite(report.epsilon):
        if any(map(_range, listed)):
            yield words().ranges("clipped_variances" in report.details)
        if not all(_range(one) or one["share"] is None for one in listed):
            yield words().rough(report.details.get("clip"))
        if any(text.startswith("(") for one in listed for text in _loadings(one)):
            yield words().BRACKETS
        entries = [entry for one in listed if not _is_lost(one) for entry in one["largest"]]
        if any(entry["noise"] is None for entry in entries):
            yield words().NO_BRACKETS
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
    """The alignment in a word, and rounded down."""
    if alignment is None:
        return ""
    if alignment <= 0:
        return "lost in the noise"
    hundredths = int(100 * float(alignment) + 1e-9) / 100
    return f"{'clear' if hundredths >= CLEAR else 'partly'} {hundredths:.2f}"


def _loadings(one: Mapping[str, Any]) -> Iterator[str]:
    """The largest loadings of a component; in brackets those that noise alone can explain."""
    for entry in one["largest"]:
        text = f"{entry['feature']} {entry['entry']:+.2f}"
        yield f"({text})" if _is_lost(one) or entry["noise"] else text


def page(
    document: Mapping[str, Any], pictures: Sequence[Picture], template: str = "page.html"
) -> str:
    """Return the page as HTML text: one file that loads nothing.

    Parameters
    ----------
    document : dict
        What a report holds, as JSON-able values.
    pictures : sequence of Picture
    template : {"page.html", "snippet.html"}
        The second is the box, what was found and the pictures, to stand in another page.
    """
    made = templates().get_template(template)
    facts = page_facts(document) | {"MOST_LINES": MOST_LINES, "found": found(document)}
    text: str = made.render(facts, beyond=beyond, pictures=pictures, say=words())
    return text.strip() + "\n"


def results(
    document: Mapping[str, Any], ledger: str = "", details: bool = False, shell: bool = True
) -> list[str]:
    """The lines that tell of a release.

    Parameters
    ----------
    document : dict
        What a report holds, as JSON-able values.
    ledger : str
        What the ledger is called here; empty if only its number is known.
    details : bool
        Whether to add each fit's own report, with all questions that it asked.
    shell : bool
        Whether to write the parameters of a fit as the options of a command, and not as in Python.
    """
    report, status = report_of(document), status_of(document)
    guarantee = _guarantee(document, report)
    account = "the ledger" if shell else "accountant"
    left = [f"Budget: {budget(document, account, ledger)}"] * report.private
    table: list[str] = []
    notes: list[str] = []
    if one := found(document):
        table = [*one.warnings, one.headline, "", *aligned([one.heads, *one.rows]), ""]
        notes = one.notes
    notes += lost(report, document["results"], shell)
    remarks = [one for one in report.remarks(technical=False) if one not in drifts(report)]
    notes += map(sentence, remarks)
    # what does not hold as it stands is said first
    if status in ("not-private", "not-as-stated"):
        lines = [*guarantee, *[""] * bool(table), *table, *notes, *left]
    else:
        lines = [*table, *guarantee, *left, *[""] * bool(notes), *notes]
    return [*lines, "", str(report).replace("of accountant", f"of {account}")] if details else lines


def advice(document: Mapping[str, Any]) -> list[str]:
    """Return the rules for using the files of a release, where `results` does not state them."""
    status = status_of(document)
    if status == "not-as-stated":
        return []
    if status == "not-private":
        return [words().TREAT_AS_DATA]
    if status in ("open", "uncharged"):
        return [claim(document)[-1], words().ROWS_ARE_NOT]
    return [words().FILES_ARE]


def lost(
    report: PrivacyReport, results: Mapping[str, Any] | None = None, shell: bool = True
) -> list[str]:
    """Return the number of components that are noise, and a remedy, if there are any."""
    alignments = report.details.get("alignments", ())
    number = sum(alignment <= 0 for alignment in alignments)
    if not number:
        return []
    records, nothing = "more records", results is not None and number == len(alignments)
    if results is not None and nothing:
        records = enough_records(report, results["n_features"], float(results["n_records"] or 0))
    unscaled, say = report.parameters.get("scale") is None, words()
    more = say.to_see_more(unscaled, records, nothing, shell)
    return [f"{say.lost(number, len(alignments))} {more}"]


def _guarantee(document: Mapping[str, Any], report: PrivacyReport) -> list[str]:
    """The guarantee in a line; or why there is none."""
    status, unit = status_of(document), report.unit
    if status == "not-as-stated":
        return list(map(printable, claim(document)))
    if status == "not-private":
        return [report.guarantee()]
    whom = f"every {unit}" if is_one(unit) else protected_together(unit).replace("one ", "every ")
    conditions = ["nothing was fitted on these data before"]
    if is_merged(report.details) and report.parameters["disjoint"]:
        conditions.append("nobody has records in two of the merged releases")
    if report.in_all() is not None:
        conditions.append("different accounts are of different people")
    epsilon, delta = digits.up(report.epsilon, 4), digits.up(report.delta)
    return [
        f"Guarantee: epsilon {epsilon} at delta {delta} for {whom}, under {report.adjacency}. "
        f"It holds if {', and if '.join(conditions)}."
    ]
