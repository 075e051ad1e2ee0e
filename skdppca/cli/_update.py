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

from .._text import MAX_LISTED, listed
from ..decomposition import PrivatePCA
from ..decomposition.fitted import MATRIX
from ..decomposition.joining import JoinsCohorts
from ..privacy import PrivacyReport
from ..report import Context
from ..report._directory import PREVIOUS, beside
from ..report._load import opened
from ._terminal import SHOWN

if TYPE_CHECKING:
    from ._fit_command import FitCommand

# The method whose matrices can be joined.
METHOD = "gauss"

# Options that all cohorts have in common, and what they are if they are not given.
DEFAULTS = {
    name: signature(PrivatePCA).parameters[name].default
    for name in ("adjacency", "norm_bound", "center", "scale", "missing")
}


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
        Report of the last cohort.
    names : tuple of str
        Names of its columns.
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

    def take_over(self, options: FitCommand) -> None:
        """Set what all cohorts have in common.

        A title and a number of components are those before, if none is given. What is given
        otherwise than before is refused by the fit, before the charge.
        """
        told = self.report.parameters
        for name, default in DEFAULTS.items():
            if getattr(options, name) == default:
                setattr(options, name, told[name])
        if options.n_components == "auto":
            options.n_components = told["n_components"]
        options.title = options.title or self.document["title"]

    def check_columns(self, names: Sequence[str]) -> None:
        """Refuse other columns than those of the cohorts before."""
        if tuple(names) != self.names:
            columns = quote(",".join(self.names))
            if len(self.names) > MAX_LISTED:
                columns = f"with their names, which are {listed(self.names)}"
            raise ValueError(
                f"the columns are not those of {self.path}, in its order; pass --columns {columns}"
            )

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
        previous = beside(self.path, PREVIOUS)
        return [f"The release before, {self.report.release_id[:SHOWN]}, is in {previous}/"]
