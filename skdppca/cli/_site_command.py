"""``skdppca site``: one site of a study of several. See the guide's page "Across sites"."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from .._text import listed
from ..decomposition import DPGauss
from ..federated.identity import NODE_PUBLIC_KEY, create_node_key
from ..federated.policy import Policy
from ..federated.questions import QUESTIONS
from ..federated.site import KEY, POLICY, Site
from ..federated.site_table import read_arrays
from ..federated.study import Study
from ..privacy import PrivacyLedger
from ._column_names import Wanted
from ._parameter_options import Command, argument, option
from ._read_rows import opened
from ._terminal import print_to


@dataclass(kw_only=True)
class SiteAction(Command):
    """An action of one site."""

    directory: Path = argument(metavar="DIR", help="the folder of this site")


class SiteKey(SiteAction):
    """Make a folder with this site's keys.

    Examples
    --------
    skdppca site key our_site/
    """

    def run(self) -> None:
        """Make a site's folder with its keys, and print what the others need of them."""
        folder = self.directory
        identity = Site.prepare(folder)
        create_node_key(folder)
        print(
            f"{folder}: keys were made. They stay here; nobody else needs this folder.\n"
            f"public key, for the study: {identity.public}\n"
            f"for whoever runs the server: {folder / NODE_PUBLIC_KEY}"
        )


@dataclass(kw_only=True)
class SiteInit(SiteAction):
    """Write down what this site agrees to.

    Parameters
    ----------
    study : Path
        The study, the same file at all sites.
    table : Path
        The data of this site.
    groups : str or None
        The column that says to whom each row belongs; needed unless the unit is a row.
    analyst : list of str
        Public keys of the people who may ask questions.
    ledger : Path
        The ledger to charge, which skdppca ledger create makes.
    max_epsilon : float or None
        The most that one run may charge (default: the budget).
    max_delta : float or None
        The largest delta of one run (default: that of the budget).
    statistics : list of str or None
        The kinds of sums that may be asked for (default: all).

    Examples
    --------
    skdppca site init site/ --study s.json --table a.csv --analyst KEY --ledger a.ledger
    """

    study: Path = option(required=True, metavar="FILE")
    table: Path = option(required=True, metavar="FILE")
    groups: str | None = option(metavar="COLUMN")
    analyst: list[str] = option(nargs="+", required=True, metavar="KEY")
    ledger: Path = option(required=True, metavar="FILE")
    max_epsilon: float | None = option()
    max_delta: float | None = option()
    statistics: list[str] | None = option(nargs="+", metavar="KIND")
    min_sites: int = option(of=Policy, metavar="N")

    def run(self) -> None:
        """Write down what this site agrees to."""
        folder: Path = self.directory
        _check_made(folder, KEY, "key")
        ledger = PrivacyLedger(self.ledger)
        policy = Policy(
            study=Study.read(self.study),
            analysts=tuple(self.analyst),
            table=os.path.abspath(self.table),
            max_epsilon=ledger.epsilon if self.max_epsilon is None else self.max_epsilon,
            max_delta=ledger.delta if self.max_delta is None else self.max_delta,
            ledger=os.path.abspath(self.ledger),
            groups=self.groups,
            statistics=QUESTIONS if self.statistics is None else frozenset(self.statistics),
            min_sites=self.min_sites,
        )
        policy.write(folder / POLICY)
        try:
            site = _opened(folder)
            site.table  # noqa: B018  # a mistake shows now
        except BaseException:
            (folder / POLICY).unlink()
            raise
        print(f"Written: {folder / POLICY}")
        print(_agreed(site))


@dataclass(kw_only=True)
class SiteRun(SiteAction):
    """Answer questions until Ctrl-C.

    Parameters
    ----------
    root_certificates : Path or None
        The certificates that the server is checked against.

    Examples
    --------
    skdppca site run our_site/ --server host:9092
    """

    server: str = option(required=True, metavar="HOST:PORT")
    root_certificates: Path | None = option(metavar="FILE")

    def run(self) -> None:
        """Answer questions until an interrupt."""
        from ..federated.supernode import serve

        def say(text: str) -> None:
            now = datetime.now().isoformat(" ", "seconds")
            print_to("stderr", f"{now} {site.name}: {text}\n")

        site = _opened(self.directory)
        site.table  # noqa: B018  # a mistake shows now
        try:
            serve(site, self.server, self.root_certificates, say)
        except KeyboardInterrupt:
            say("stopped")


class SiteShow(SiteAction):
    """Print what this site agrees to.

    Examples
    --------
    skdppca site show our_site/
    """

    def run(self) -> None:
        """Print what this site agrees to."""
        print(_agreed(_opened(self.directory)))


ACTIONS = {"key": SiteKey, "init": SiteInit, "run": SiteRun, "show": SiteShow}


def _check_made(folder: Path, file: str, action: str) -> None:
    """Refuse a folder without a file that an earlier command makes."""
    if not (folder / file).exists():
        raise ValueError(
            f"{folder / file} does not exist; make it first: skdppca site {action} {folder}"
        )


def _opened(folder: Path) -> Site:
    _check_made(folder, POLICY, "init")
    may_miss = Policy.read(folder / POLICY).study.missing == "mean"
    return Site(folder, partial(_rows, may_miss))


def _rows(
    may_miss: bool, path: str, columns: tuple[str, ...] | int, groups: str | None
) -> tuple[Any, Any]:
    """Read the study's columns of a table, in the study's order."""
    if path.lower().endswith((".npy", ".npz")):
        return read_arrays(path, columns, groups)
    names = None if isinstance(columns, int) else columns
    rows: Any = opened([Path(path)], Wanted(groups, names, alone=True, may_miss=may_miss))
    reader = DPGauss(unit=groups or "row", missing="mean" if may_miss else "error")
    table: tuple[Any, Any] = rows.in_memory(reader)
    return table


def _agreed(site: Site) -> str:
    policy, study = site.policy, site.policy.study
    others = ", ".join(name for name in study.sites if name != site.name)
    columns = study.columns if isinstance(study.columns, int) else listed(study.columns)
    return "\n".join(
        [
            f"{site.name} takes part in the study {study.name}, with {others}.",
            f"table: {policy.table}",
            f"columns: {columns}; a record is a {study.unit}",
            f"answers: to analysts {', '.join(policy.analysts) or 'nobody'}",
            f"with at least {policy.min_sites} sites, of which {study.max_colluders} may collude",
            f"one run: at most epsilon {policy.max_epsilon:g}, delta {policy.max_delta:g}",
            f"ledger: {site.ledger.path}, remaining epsilon {site.ledger.remaining.epsilon:.6g} "
            f"at delta {site.ledger.delta:g}",
        ]
    )
