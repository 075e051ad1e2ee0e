"""``skdppca demo``: a release of public data, with a ledger and all that a curator declares."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from sklearn.datasets import load_digits

from .._text import printable
from ..decomposition import DPGauss, PrivatePCA
from ..metrics import captured_variance
from ..privacy import PrivacyLedger
from ..privacy.charging import needs_no_accountant
from ..report import Context, ReleaseReport
from ..report._directory import writing
from ..report._results import results
from ._out_directory import where_written, write
from ._parameter_options import Command, flag, option
from ._terminal import progress

DIGIT_SHAPE = (8, 8)

# The budget of a new ledger, in epsilons of the first demo: that covers about 16 equal demos.
BUDGET = 4

DECLARED = Context(
    purpose="To show what a release looks like. These digits are public: nobody needs protection.",
    curator="Nobody. The digits come with scikit-learn.",
    contact="scikit-learn.org",
    region="The description of the digits does not say.",
    subjects="1797 images of digits, which 13 people wrote by hand.",
    collected="By E. Alpaydin and C. Kaynak; public since July 1998.",
    declared_by="The authors of skdppca, for this demo.",
    why_this_epsilon="Whoever ran the demo chose it, or left the default of 1.",
    why_this_unit="The public table does not say who wrote which image.",
    intended_users="Everyone who tries skdppca.",
    approvals="None was needed, because the digits are public.",
    fitted_before="no",
    several_units=("no", "The demo takes each image for a person. 13 people wrote all of them."),
    chosen_by_looking="no",
    other_releases=("yes", "Every image itself is public."),
    facts_are_public=("yes", "The demo declares none about the digits."),
    raw_data_access=("no", "Everyone can read them: they come with scikit-learn."),
    timing=("yes", "By whoever runs the demo. The digits are public."),
    rows_shown=("no", "Not by the demo. Every image is public."),
    all_charged=("yes", "Every fit of the demo. Others fit these digits without any ledger."),
    collection_needed=("no", "Nothing was collected for the demo."),
)


@dataclass(kw_only=True)
class DemoCommand(Command):
    """Release private components of public digits, with a ledger and a page.

    Parameters
    ----------
    out : Path
        The folder to write the results to (default: demo).

    Examples
    --------
    skdppca demo --force
    """

    epsilon: float = option(of=PrivatePCA)
    delta: float = option(of=PrivatePCA, sentences=2)
    out: Path = option(metavar="DIR", default=Path("demo"))
    force: bool = flag()
    pictures: bool = option("--no-pictures", action="store_false")

    def run(self) -> None:
        """Fit scikit-learn's digits, print what was released, charge a ledger, write the files."""
        with writing(self.out, self.force) as directory:
            ledger = None if math.isinf(self.epsilon) else _ledger(self)
            pca, report = _fitted(self, ledger)
            written = write(report, directory)
        said = [where_written(self.out, written, report.no_pictures), *_check(self)]
        print(
            f"The digits of scikit-learn: images of {' x '.join(map(str, DIGIT_SHAPE))} pixels.\n"
        )
        print("\n".join(results(report.dict(), printable(str(_ledger_file(self.out))))))
        share = captured_variance(pca, load_digits().data)
        print(
            f"\nThese data are public, so we may look: the private components capture {share:.1%} "
            "of the\nvariance that as many components without privacy do.\n"
        )
        print("\n".join(said))


def _fitted(options: DemoCommand, ledger: PrivacyLedger | None) -> tuple[DPGauss, ReleaseReport]:
    """A fit of the digits, which needs no ledger, and its report."""
    digits = load_digits()
    pca = DPGauss("auto", epsilon=options.epsilon, delta=options.delta, accountant=ledger)
    with progress() as show, needs_no_accountant():  # these data are public
        show("fitting", 0.0)
        pca.fit(digits.data)
    return pca, ReleaseReport(
        pca,
        title="The digits of scikit-learn (a demo with public data)",
        context=DECLARED,
        feature_names=digits.feature_names,
        image_shape=DIGIT_SHAPE,
        pictures=options.pictures,
    )


def _ledger_file(out: Path) -> Path:
    """Beside the release, under a name that nobody's own ledger has."""
    place = out if out.name not in ("", "..") else out.resolve()
    return place.with_name(f"{place.name}-digits.ledger")


def _ledger(options: DemoCommand) -> PrivacyLedger:
    """The ledger of earlier demos, or a new one for some."""
    path = _ledger_file(options.out)
    if path.exists():
        return PrivacyLedger(path)
    return PrivacyLedger.create(path, BUDGET * options.epsilon, options.delta)


def _check(options: DemoCommand) -> list[str]:
    """Lines about checking the files, and about a budget that is used up."""
    if math.isinf(options.epsilon):
        return []
    path = quote(str(_ledger_file(options.out)))
    return [
        f"Check the files: skdppca verify {quote(str(options.out))} --ledger {path}",
        f"Each demo is charged to {path}. When its budget is used up, remove it: the digits are "
        "public.",
        "Never remove the ledger of data that are not.",
    ]
