"""The pictures of a report, each with its finding in a sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from .. import plotting
from .._text import printable
from ..plotting._style import UNSTATED, as_written, figure
from ..privacy import PrivacyReport, Statement, compose
from ._drawing import settings, svg
from ._subject import Subject

# A picture of this name has the file of this name, with .svg at its end.
PICTURES = ("privacy", "scree", "loadings", "components", "ledger")

# On the page; the rest is in the table of components.
MOST_COMPONENTS = 8
MOST_FEATURES = 20
MOST_IMAGES = 10


@dataclass(frozen=True)
class Picture:
    """An `svg` element and what it says."""

    name: str
    alt: str
    svg: str


# A picture's name, and what draws it.
Maker = tuple[str, Callable[[], "Picture"]]


def draw(
    subjects: Sequence[Subject],
    statement: Statement | None = None,
    image_shape: tuple[int, ...] | None = None,
    as_stated: bool = True,
    wanted: Callable[[str], bool] = lambda name: True,
) -> list[Picture]:
    """Draw what was released, what that protects, and the account.

    Parameters
    ----------
    subjects : sequence of Subject
        As their files have them, so that who has the files can draw the same.
    statement : Statement, optional
        Of the ledger.
    image_shape : tuple of int, optional
        Of a row, if a row is an image.
    as_stated : bool, default=True
        Whether the guarantee holds as the releases state it; if not, every title says so.
    wanted : callable, optional
        Whether a picture of this name is to be drawn.

    Raises
    ------
    ImportError
        Without matplotlib.
    """
    with settings():
        makers = _makers(subjects, statement, image_shape, as_stated)
        return [make() for name, make in makers if wanted(name)]


def of_the_ledger(n_charges: int, n_releases: int) -> set[str]:
    """Names of the pictures that show more of a ledger than these releases.

    Parameters
    ----------
    n_charges : int
        Of the ledger.
    n_releases : int
    """
    return ({"ledger"} if n_charges > 1 else set()) | (
        {"privacy"} if n_charges > n_releases else set()
    )


def _makers(
    subjects: Sequence[Subject],
    statement: Statement | None,
    image_shape: tuple[int, ...] | None,
    as_stated: bool,
) -> Iterator[Maker]:
    if all(subject.report.private for subject in subjects):
        yield "privacy", partial(_privacy, subjects, statement, as_stated)
    for number, subject in enumerate(subjects):
        suffix, title = str(number + 1) if number else "", _title([subject.report], as_stated)
        yield from _of_fit(subject, suffix, title, image_shape)
    if statement is not None and len(statement.chain.receipts) > 1:
        yield "ledger", partial(_ledger, statement)


def _privacy(subjects: Sequence[Subject], statement: Statement | None, as_stated: bool) -> Picture:
    """What tests detect at most; of the whole ledger as a second, dashed curve."""
    canvas = figure(5.2, 4.0)
    ax = canvas.subplots()
    reports = [subject.report for subject in subjects]
    curve, name, title = plotting.PrivacyCurveDisplay, "this release", _title(reports, as_stated)
    if len(reports) == 1:
        first = curve.from_report(reports[0], ax=ax, name=name, title=title)
    else:
        event = compose(one.cost for one in reports)
        first = curve.from_event(event, ax=ax, name=name, title=title)
    if statement is not None and len(statement.chain.receipts) > len(reports):
        curve.from_accountant(
            statement, ax=ax, name="all of the ledger", line_kw={"linestyle": "--"}
        )
    return _picture("privacy", canvas, first)


def _of_fit(
    subject: Subject, suffix: str, title: str, image_shape: tuple[int, ...] | None
) -> Iterator[Maker]:
    """What a fit found."""
    if "explained_variance" in subject.arrays:
        yield f"scree{suffix}", partial(_scree, subject, f"scree{suffix}", title)
    if "components" not in subject.arrays:
        return
    if image_shape is None:
        yield f"loadings{suffix}", partial(_loadings, subject, f"loadings{suffix}", title)
    else:
        name = f"components{suffix}"
        yield name, partial(_images, subject, name, title, image_shape)


def _scree(subject: Subject, name: str, title: str) -> Picture:
    canvas = figure(6.4, 3.6)
    ax = canvas.subplots()
    return _picture(
        name, canvas, plotting.ScreeDisplay.from_estimator(subject.fitted, ax=ax, title=title)
    )


def _loadings(subject: Subject, name: str, title: str) -> Picture:
    count = min(len(subject.fitted.components_), MOST_COMPONENTS)
    rows = min(len(subject.names), MOST_FEATURES)
    canvas = figure(max(4.6, 2.9 + 0.62 * count), max(2.4, 1.5 + 0.27 * rows))
    loadings = plotting.LoadingsDisplay.from_estimator(
        subject.fitted,
        components=count,
        max_features=MOST_FEATURES,
        feature_names=subject.names,
        ax=canvas.subplots(),
        title=title,
    )
    return _picture(name, canvas, loadings)


def _images(subject: Subject, name: str, title: str, image_shape: tuple[int, ...]) -> Picture:
    canvas = figure(6.4, 3.2)
    images = plotting.ComponentsImageDisplay.from_estimator(
        subject.fitted,
        image_shape,
        max_components=MOST_IMAGES,
        ax=canvas.subplots(),
        title=title,
    )
    return _picture(name, canvas, images)


def _ledger(statement: Statement) -> Picture:
    canvas = figure(6.4, 3.4)
    title = as_written(f"Budget: {statement.chain.terms}")
    display = plotting.LedgerDisplay.from_ledger(statement, ax=canvas.subplots(), title=title)
    return _picture("ledger", canvas, display)


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
    return Picture(name, alt, svg(canvas, alt))
