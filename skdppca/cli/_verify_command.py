"""``skdppca verify``: three questions about a release, and its state."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from msgspec import convert

from ..report import verify
from ..report._verify import Status
from ._charged_ledger import check_there
from ._json import VerifyDocument
from ._parameter_options import Command, argument, flag, option


@dataclass(kw_only=True)
class VerifyCommand(Command):
    """Check a release: its files, its ledger, and someone outside.

    The exit status is 0 only if the last line says "status: private".

    Parameters
    ----------
    ledger : list of Path
        A ledger to compare with: it must hold the charge and the release. It can be given several
        times.
    head : str or None
        The head of the ledger that you noted when you got the release: 64 hexadecimal digits, which
        `skdppca fit` prints last.
    signer : Path or None
        The SSH public key of the signer of SHA256SUMS (ssh-keygen -Y sign -n skdppca).
    allow : list of str
        Exit with 0 for this state, too; it can be given several times.

    Examples
    --------
    skdppca verify release/ --ledger patients.ledger
    """

    directory: Path = argument(metavar="DIR")
    ledger: list[Path] = option(action="append", default=[], metavar="FILE")
    head: str | None = option(metavar="HEX")
    signer: Path | None = option(metavar="KEY")
    allow: list[str] = option(
        action="append", default=[], choices=get_args(Status), metavar="STATUS"
    )
    json: bool = flag()

    def run(self) -> int:
        """Print the answers; return the exit status."""
        for ledger in self.ledger:
            check_there(ledger)
        found = verify(self.directory, ledger=self.ledger, head=self.head, signer=self.signer)
        print(convert(found, VerifyDocument, from_attributes=True) if self.json else found)
        return 0 if found.status in ("private", *self.allow) else 1
