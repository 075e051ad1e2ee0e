"""``skdppca verify``: whether a report, the files beside it, a ledger and someone outside agree."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from msgspec import convert

from ..report import verify
from ..report._verify import check_directory
from ._charged_ledger import check_there
from ._json import VerifyDocument
from ._parameter_options import Command, argument, flag, option


@dataclass(kw_only=True)
class VerifyCommand(Command):
    """Check a report against its files, a ledger and a signature.

    Parameters
    ----------
    ledger : Path or None
        The ledger to compare with: it must hold the charge and the release.
    head : str or None
        The head of the ledger that you noted when you got the release: 64 hexadecimal digits, which
        `skdppca fit` prints last.
    signer : Path or None
        The SSH public key of the signer of SHA256SUMS (ssh-keygen -Y sign -n skdppca).

    Examples
    --------
    skdppca verify release/ --ledger patients.ledger
    """

    directory: Path = argument(metavar="DIR")
    ledger: Path | None = option(metavar="FILE")
    head: str | None = option(metavar="HEX")
    signer: Path | None = option(metavar="KEY")
    json: bool = flag()

    def run(self) -> int:
        """Print what agrees and what differs; return the exit status."""
        check_directory(self.directory)
        if self.ledger is not None:
            check_there(self.ledger)
        found = verify(self.directory, ledger=self.ledger, head=self.head, signer=self.signer)
        print(convert(found, VerifyDocument, from_attributes=True) if self.json else found)
        return 0 if found.passed else 1
