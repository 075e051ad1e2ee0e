"""Options of ``skdppca site``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from . import _site_command as site
from ._parameter_options import Command, argument, option


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

    run = site.key


@dataclass(kw_only=True)
class SiteInit(SiteAction):
    """Write down what this site agrees to.

    Parameters
    ----------
    study : Path
        The study, the same file at all sites.
    name : str
        The name of this site in the study.
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
    skdppca site init site/ --study s.json --name A --table a.csv --analyst KEY --ledger a.ledger
    """

    study: Path = option(required=True, metavar="FILE")
    name: str = option(required=True)
    table: Path = option(required=True, metavar="FILE")
    groups: str | None = option(metavar="COLUMN")
    analyst: list[str] = option(nargs="+", required=True, metavar="KEY")
    ledger: Path = option(required=True, metavar="FILE")
    max_epsilon: float | None = option()
    max_delta: float | None = option()
    statistics: list[str] | None = option(nargs="+", metavar="KIND")
    min_sites: int = option(of=site.Policy, metavar="N")  # type: ignore[attr-defined]

    run = site.init


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

    run = site.run


class SiteShow(SiteAction):
    """Print what this site agrees to.

    Examples
    --------
    skdppca site show our_site/
    """

    run = site.show


ACTIONS = {"key": SiteKey, "init": SiteInit, "run": SiteRun, "show": SiteShow}
