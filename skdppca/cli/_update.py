"""The release that ``skdppca fit --update`` grows."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from .._text import printable
from ..decomposition import PrivatePCA
from ..decomposition.fitted import MATRIX
from ..decomposition.joining import JoinsCohorts
from ..privacy import PrivacyReport
from ..report import Context
from ..report._directory import PREVIOUS
from ..report._load import opened
from ._terminal import SHOWN

if TYPE_CHECKING:
    from ._fit_command import FitCommand

# Parameters by which records are measured, and their options: all cohorts have them in common.
FIXED = {
    "adjacency": "--adjacency",
    "norm_bound": "--norm-bound",
    "center": "center (--no-center)",
    "scale": "--scale",
    "missing": "--missing",
}

# The method whose matrices can be joined.
METHOD = "gauss"

DEFAULTS = {name: signature(PrivatePCA).parameters[name].default for name in FIXED}

# The most columns that a remedy lists to be typed.
MOST_NAMES = 12


def check_options(options: FitCommand, update: Path) -> None:
    """Refuse what does not go with --update, and make its directory the one of the results."""
    if options.ledger is None and math.isfinite(options.epsilon):
        raise ValueError(
            "--update joins people who have a ledger of their own, or all people would pay for "
            "them; pass it: --ledger FILE"
        )
    if options.force:
        raise ValueError("--force replaces a release, which --update keeps; leave one of them out")
    if options.method not in ("auto", METHOD):
        raise ValueError(
            f"--method {options.method} has no noisy matrix that cohorts could be joined by; leave "
            "--method out, or fit each cohort by itself and merge them: skdppca merge"
        )
    options.out = update if update.name not in ("", "..") else Path(os.path.abspath(update))
    options.method = METHOD


@dataclass(frozen=True)
class Earlier:
    """The release of the cohorts before.

    Parameters
    ----------
    path : Path
    fitted : JoinsCohorts
    report : PrivacyReport
        Of the last cohort.
    names : tuple of str
        Of its columns.
    document : dict
        What ``report.json`` holds.
    """

    path: Path
    fitted: Any
    report: PrivacyReport
    names: tuple[str, ...]
    document: Mapping[str, Any]

    @classmethod
    def there(cls, path: Path) -> Earlier | None:
        """The release in a directory; None if there is no such directory."""
        if not path.exists():
            return None
        subject, document = opened(path)
        fitted = subject.fitted
        if not isinstance(fitted, JoinsCohorts) or f"{MATRIX}scatter_" not in vars(fitted):
            raise ValueError(
                f"{path} holds no noisy matrix that a cohort could be joined to; fit this cohort "
                f"by itself, with --out, and merge the two: skdppca merge {quote(str(path))} OTHER "
                "--out DIR"
            )
        return cls(path, fitted, subject.report, subject.names, document)

    def take_over(self, options: FitCommand, unit: str) -> None:
        """Set what all cohorts have in common, and refuse an option that is given otherwise.

        A title and a number of components are those before, if none is given.
        """
        told = self.report.parameters
        for name, option in FIXED.items():
            given = getattr(options, name)
            if given not in (DEFAULTS[name], told[name]):
                before = "not given" if told[name] is None else repr(told[name])
                raise ValueError(
                    f"{option} is {given!r}, and was {before} for the cohorts "
                    f"before in {self.path}; leave it out, because it must stay the same"
                )
            setattr(options, name, told[name])
        if unit != told["unit"]:
            raise ValueError(
                f"{self.path} protects every {told['unit']}, and this fit every {unit}; pass "
                + ("no --groups" if told["unit"] == "row" else "--groups COLUMN")
                + f" --unit {quote(told['unit'])}"
            )
        if options.n_components == "auto":
            options.n_components = told["n_components"]
        options.title = options.title or self.document["title"]

    def check_columns(self, names: Sequence[str]) -> None:
        """Refuse other columns than those of the cohorts before."""
        if tuple(names) != self.names:
            if len(self.names) > MOST_NAMES:
                first = ", ".join(map(printable, self.names[:3]))
                remedy = (
                    f"give a table whose columns are named as those are, which begin with {first}: "
                    "a .parquet or .csv file, if this one holds no names"
                )
            else:
                remedy = f"pass --columns {quote(','.join(self.names))}"
            raise ValueError(f"the columns are not those of {self.path}, in its order; {remedy}")

    def context(self, given: Context | None) -> Context:
        """Return the given answers of the curator, or else the earlier ones."""
        return Context.from_dict(self.document["context"]) if given is None else given

    def kept(self, options: FitCommand) -> str:
        """A line about the words that the new page keeps, for a look before the charge."""
        answers = [name for name, answer in self.document["context"].items() if answer]
        kept = [
            *[f"the title {options.title!r}"] * (options.title == self.document["title"]),
            *[f"the answers {', '.join(answers)}"] * bool(answers and options.context is None),
        ]
        if not kept:
            return ""
        return (
            f"Nothing is charged yet. The new page keeps {' and '.join(kept)} of the release "
            "before. To change them, interrupt now, and pass --title and --context.\n"
        )

    def said(self) -> list[str]:
        """A line about the place of the earlier release."""
        previous = self.path.with_name(f"{self.path.name}{PREVIOUS}")
        return [f"The release before, {self.report.release_id[:SHOWN]}, is in {previous}/"]
