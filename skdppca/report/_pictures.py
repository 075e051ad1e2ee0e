"""The pictures of a report, each with its finding in a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .. import plotting
from .._text import printable
from ..plotting._common import UNSTATED, as_written, figure
from ..privacy import PrivacyReport, Statement, compose
from ._drawing import settings, svg
from ._subject import Subject

__all__ = ["PICTURES", "Picture", "draw"]

# A picture of this name has the file of this name, with .svg at its end.
PICTURES = ("privacy", "scree", "loadings", "components", "ledger")

# On the page; the rest is in the table of components.
MOST_COMPONENTS, MOST_FEATURES, MOST_IMAGES = 8, 20, 10


@dataclass(frozen=True)
class Picture:
    """An `svg` element and what it says."""

    name: str
    alt: str
    svg: str


def draw(
    subjects: Sequence[Subject],
    statement: Statement | None = None,
    image_shape: tuple[int, ...] | None = None,
    as_stated: bool = True,
) -> list[Picture]:
    """Draw what was released, what that protects, and the account.

    Parameters
    ----------
    subjects : sequence of Subject
    statement : Statement, optional
        Of the ledger.
    image_shape : tuple of int, optional
        Of a row, if a row is an image.
    as_stated : bool, default=True
        Whether the guarantee holds as the releases state it; if not, every title says so.

    Raises
    ------
    ImportError
        Without matplotlib.
    """
    pictures = []
    with settings():
        if all(subject.report.private for subject in subjects):
            pictures.append(_privacy(subjects, statement, as_stated))
        for number, subject in enumerate(subjects):
            suffix, title = str(number + 1) if number else "", _title([subject.report], as_stated)
            pictures.extend(_fit(subject, suffix, title, image_shape))
        if statement is not None and len(statement.chain.receipts) > 1:
            canvas = figure(6.4, 3.4)
            title = as_written(f"Budget: {statement.chain.terms}")
            display = plotting.LedgerDisplay.from_ledger(
                statement, ax=canvas.subplots(), title=title
            )
            pictures.append(_picture("ledger", canvas, display))
    return pictures


def _privacy(subjects: Sequence[Subject], statement: Statement | None, as_stated: bool) -> Picture:
    """What tests detect at most; of the whole ledger as a second, dashed curve."""
    canvas = figure(5.2, 4.0)
    ax = canvas.subplots()
    reports = [subject.report for subject in subjects]
    curve, name, title = plotting.PrivacyCurveDisplay, "this release", _title(reports, as_stated)
    if len(reports) == 1:
        first = curve.from_report(reports[0], ax=ax, name=name, title=title)
    else:
        event = compose(one.event for one in reports)
        first = curve.from_event(event, ax=ax, name=name, title=title)
    if statement is not None and len(statement.chain.receipts) > len(reports):
        curve.from_accountant(
            statement, ax=ax, name="all of the ledger", line_kw={"linestyle": "--"}
        )
    return _picture("privacy", canvas, first)


def _fit(
    subject: Subject, suffix: str, title: str, image_shape: tuple[int, ...] | None
) -> Iterator[Picture]:
    """What a fit found."""
    fitted = subject.fitted
    if "explained_variance" in subject.arrays:
        canvas = figure(6.4, 3.6)
        scree = plotting.ScreeDisplay.from_estimator(fitted, ax=canvas.subplots(), title=title)
        yield _picture(f"scree{suffix}", canvas, scree)
    if "components" not in subject.arrays:
        return
    count = min(len(fitted.components_), MOST_COMPONENTS)
    if image_shape is None:
        rows = min(len(subject.names), MOST_FEATURES)
        canvas = figure(max(4.6, 2.9 + 0.62 * count), max(2.4, 1.5 + 0.27 * rows))
        loadings = plotting.LoadingsDisplay.from_estimator(
            fitted,
            components=count,
            max_features=MOST_FEATURES,
            feature_names=subject.names,
            ax=canvas.subplots(),
            title=title,
        )
        yield _picture(f"loadings{suffix}", canvas, loadings)
    else:
        canvas = figure(6.4, 3.2)
        images = plotting.ComponentsImageDisplay.from_estimator(
            fitted, image_shape, max_components=MOST_IMAGES, ax=canvas.subplots(), title=title
        )
        yield _picture(f"components{suffix}", canvas, images)


def _title(reports: Sequence[PrivacyReport], as_stated: bool) -> str:
    """What the pictures are of and what protects it, in plain letters, which are drawn fast."""
    names = ", ".join(report.method for report in reports)
    if not all(report.private for report in reports):
        return as_written(f"{names}: NOT PRIVATE")
    if not as_stated:
        return as_written(f"{names}: {UNSTATED}")
    first = reports[0]
    cost = "" if len(reports) > 1 else f"epsilon {first.epsilon:g}, delta {first.delta:g} "
    return as_written(f"{names}: {cost}for every {first.unit} ({first.adjacency})")


def _picture(name: str, canvas: Any, display: Any) -> Picture:
    alt = printable(display.alt_text_)
    return Picture(name, alt, svg(canvas, name, alt))
