"""``skdppca report``: what a release found and what it cost."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..privacy.parts import paid_by
from ..privacy.storage import replaced
from ..report import verify
from ..report._release import rendered
from ..report._results import advice, results
from ._json import ReleaseDocument
from ._parameter_options import Command, argument, flag, option

# Rights of the page, less the umask.
ANYONE = 0o666


@dataclass(kw_only=True)
class ReportCommand(Command):
    """Print what a release found and what it cost.

    Parameters
    ----------
    page : Path or None
        Write the page, made anew from the release.

    Examples
    --------
    skdppca report release/ --details
    """

    directory: Path = argument(metavar="DIR")
    details: bool = flag()
    json: bool = flag()
    page: Path | None = option(metavar="FILE")

    def run(self) -> int:
        """Print it, if the files of the release agree; return the exit status."""
        found = verify(self.directory)
        if found.agrees and self.page is not None:
            with replaced(self.page, ANYONE) as file:
                file.write(rendered(found.subject, found.document).encode())
        if self.json:
            report = dict(found.document) if found.agrees else None
            print(ReleaseDocument(str(self.directory), found.status, found.findings, report))
        elif not found.agrees:
            print(found)
        else:
            print("\n".join(results(found.document, details=self.details)))
            if found.report is not None and any(one.receipts for one in paid_by(found.report)):
                print(f"To check the charge: skdppca verify {self.directory} --ledger FILE")
            print("\n".join(advice(found.document)))
        return 0 if found.agrees else 1
