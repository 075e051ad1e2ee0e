"""Bounds on an attacker under a guarantee, as a curve."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .._text.digits import percent_up
from ..privacy import (
    BaseAccountant,
    GaussianEvent,
    NonPrivateEvent,
    PrivacyEvent,
    PrivacyReport,
    Statement,
    coin,
    compose,
    detection_rate,
    mu_of,
)
from ._display import COLOURS, LEGEND, NOISE, FitDisplay, as_written, fitted, percent_axis
from ._pipeline_steps import learned_before, private_steps

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

# Shares of false alarms that the curve is drawn through.
ALARMS = np.unique(np.concatenate([np.geomspace(1e-6, 1.0, 121), np.linspace(0.0, 1.0, 201)]))

# The curves and the diagonal of a picture, by which the next display knows them.
CURVE, DIAGONAL = "skdppca attack bound", "skdppca without the release"


@dataclass(kw_only=True, eq=False, repr=False)
class PrivacyCurveDisplay(FitDisplay):
    """Bound on what an attacker can detect, by the share of false alarms.

    Use one of the constructors; for the cost of another release, give its event, and call `plot`.
    The curve holds for every attack, whatever the attacker knows beside: if the test names a share
    of the absent records wrongly (false alarms), it names at most this share of the present ones.
    It depends on the guarantee alone, which is public.

    Parameters
    ----------
    event : PrivacyEvent
        What was released.
    name : str, optional
        For the legend.
    reports : sequence of PrivacyReport, default=()
        Reports of the fits that the event came from.
    learned_before : sequence of str, default=()
        Steps of a Pipeline that learned from the records before, so that the guarantee does not
        hold as stated. The title says so, and is red if it is your own.
    note : str, default=""
        The title, where there are no reports.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure
    line_ : matplotlib.lines.Line2D
    guess_ : matplotlib.lines.Line2D or None
        What an attacker reaches without the release.
    marks_ : matplotlib.lines.Line2D or None

    See Also
    --------
    skdppca.privacy.detection_rate : The bound, and how it is derived.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from skdppca.plotting import PrivacyCurveDisplay
    >>> ax = Figure().subplots()
    >>> display = PrivacyCurveDisplay.from_epsilon(1.0, delta=1e-6, ax=ax)
    >>> round(display.detection_at(0.05), 3), round(display.coin(), 3)
    (0.08, 0.547)
    >>> weak = PrivacyCurveDisplay.from_epsilon(10.0, delta=1e-6, ax=ax)
    >>> round(weak.detection_at(0.05), 3)
    0.581
    """

    event: PrivacyEvent
    name: str | None = None
    note: str = ""

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, ax: Axes | None = None, name: str | None = None, **options: Any
    ) -> Self:
        """Plot the bound for a fitted private estimator.

        Parameters
        ----------
        estimator : fitted private estimator or Pipeline
            All private steps of a pipeline count together.
        ax, name, options
            See `plot`.

        Returns
        -------
        PrivacyCurveDisplay

        Raises
        ------
        ValueError
            If the steps of a pipeline protect different units or have different neighbours.
        """
        last = fitted(estimator, "privacy_")
        reports = [step.privacy_ for step in private_steps(estimator)]
        learned = learned_before(estimator, last)
        return cls.from_report(reports, ax=ax, name=name, learned_before=learned, **options)

    @classmethod
    def from_report(
        cls,
        report: PrivacyReport | Sequence[PrivacyReport],
        *,
        ax: Axes | None = None,
        name: str | None = None,
        learned_before: Sequence[str] = (),
        **options: Any,
    ) -> Self:
        """Plot the bound for one release, or for several that count together.

        Parameters
        ----------
        report : PrivacyReport or sequence of PrivacyReport
        ax, options
            See `plot`.
        name, learned_before
            See the display itself.

        Returns
        -------
        PrivacyCurveDisplay

        Raises
        ------
        ValueError
            If the releases protect different units or have different neighbours.
        """
        reports = (report,) if isinstance(report, PrivacyReport) else tuple(report)
        if len({(report.unit, report.adjacency) for report in reports}) > 1:
            raise ValueError(
                "these releases protect different units, or have different neighbours, so their "
                "costs do not add up; plot each step of a pipeline by itself"
            )
        private = all(report.private for report in reports)
        event = compose(report.cost for report in reports) if private else NonPrivateEvent()
        display = cls(event=event, name=name, reports=reports, learned_before=learned_before)
        return display.plot(ax, **options)

    @classmethod
    def from_epsilon(
        cls,
        epsilon: float,
        delta: float = 1e-6,
        *,
        ax: Axes | None = None,
        name: str | None = None,
        **options: Any,
    ) -> Self:
        """Plot the bound for Gaussian noise that has this epsilon at this delta.

        All methods but `SmoothSensitivityPCA` add such noise.

        Parameters
        ----------
        epsilon : float
        delta : float, default=1e-6
        ax, name, options
            See `plot`.

        Returns
        -------
        PrivacyCurveDisplay
        """
        mu = mu_of(epsilon, delta)
        event = NonPrivateEvent() if math.isinf(mu) else GaussianEvent(mu)
        name = f"ε = {epsilon:g}, δ = {delta:g}" if name is None else name
        return cls(event=event, name=name).plot(ax, **options)

    @classmethod
    def from_accountant(
        cls,
        ledger: BaseAccountant | Statement,
        *,
        ax: Axes | None = None,
        name: str | None = None,
        **options: Any,
    ) -> Self:
        """Plot the bound for all that an accountant charged.

        Parameters
        ----------
        ledger : PrivacyLedger, PrivacyAccountant or Statement
            All charges count together.
        ax, name, options
            See `plot`.

        Returns
        -------
        PrivacyCurveDisplay
        """
        statement = ledger if isinstance(ledger, Statement) else ledger.statement()
        terms = statement.chain.terms
        name = "ledger: spent" if name is None else name
        note = f"Spent, for every {terms.unit} ({terms.adjacency})"
        return cls(event=statement.event(), name=name, note=note).plot(ax, **options)

    def detection_at(self, false_positive_rate: float) -> float:
        """Return the largest share of present records that a test detects, rounded up."""
        return detection_rate(self.event, float(false_positive_rate))

    def coin(self, units: int = 1) -> float:
        """Return the largest probability to tell a fair coin that decided on a record.

        Parameters
        ----------
        units : int, default=1
            How many records it decided on together, such as the people of one household.
        """
        return coin(self.event, units)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        marks: Sequence[float] = (0.01, 0.05),
        guess: bool = True,
        title: str | None = "guarantee",
        line_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw: for several curves, ``first.ax_``. By default in a new figure of pyplot.
        marks : sequence of float, default=(0.01, 0.05)
            Shares of false alarms at which the bound is marked, and written.
        guess : bool, default=True
            Whether to draw what an attacker reaches without the release, once in a picture.
        title : str or None, default="guarantee"
            By default the guarantee, unless the axes have a title; None for none.
        line_kw : dict, optional
            Passed to matplotlib for the curve.

        Returns
        -------
        PrivacyCurveDisplay
            This one.
        """
        ax = self._take_axes(ax, 5.6, 5.0)
        earlier = [line for line in ax.lines if line.get_gid() == CURVE]
        style: dict[str, Any] = {
            "color": COLOURS[len(earlier) % len(COLOURS)],
            "linewidth": 1.8,
            "linestyle": ("-", "--", "-.", ":")[len(earlier) % 4],
            "label": self._label(marks),
            "gid": CURVE,
        }
        self.guess_: Line2D | None = None
        if guess and not any(line.get_gid() == DIAGONAL for line in ax.lines):
            (self.guess_,) = ax.plot(ALARMS, ALARMS, ":", color=NOISE, linewidth=1.0, gid=DIAGONAL)
            self.guess_.set_label("without the release")
        (self.line_,) = ax.plot(
            ALARMS, detection_rate(self.event, ALARMS), **style | (line_kw or {})
        )
        self.marks_: Line2D | None = None
        if len(marks):
            found = [self.detection_at(mark) for mark in marks]
            (self.marks_,) = ax.plot(marks, found, "o", color=self.line_.get_color(), markersize=5)
        ax.set_xlabel("False alarms: absent records that the attack calls present")
        ax.set_ylabel("Detected: present records that it calls present")
        ax.set(xlim=(-0.01, 1.0), ylim=(0.0, 1.01))
        percent_axis(ax.xaxis)
        percent_axis(ax.yaxis)
        ax.grid(color=NOISE, alpha=0.2, linewidth=0.6)
        ax.spines[["top", "right"]].set_visible(False)
        written = any("\n" in str(line.get_label()) for line in ax.lines)
        head = "false alarms: detected at most" if written else None
        ax.legend(title=head, loc="lower right", **LEGEND)  # no curve goes below the diagonal
        if self.reports:
            self._write_guarantee(title)
        else:
            self._write_title(title, as_written(self.note), self._private)
        return self

    @property
    def alt_text_(self) -> str:
        """Description of the picture, in words."""
        if not self._private:
            return "No bound: the release is not private, so an attack may detect every record."
        five, one = (percent_up(self.detection_at(share)) for share in (0.05, 0.01))
        return (
            f"With 5 % false alarms, no attack detects more than {five} % of the records that are "
            f"present; with 1 %, {one} %. If a coin decided whether a record was used, its side "
            f"can be told in at most {percent_up(self.coin())} % of cases."
        )

    @property
    def _private(self) -> bool:
        return not isinstance(self.event, NonPrivateEvent)

    def _label(self, marks: Sequence[float]) -> str:
        label = "this release" if self.name is None else as_written(self.name)
        if not self._private:
            return f"{label}: NOT PRIVATE"
        bounds = [f"{100 * mark:g} %: {percent_up(self.detection_at(mark))} %" for mark in marks]
        return "\n".join([label, ",  ".join(bounds)] if bounds else [label])
