"""``skdppca site``: one site of a study of several. See the guide's page "Across sites"."""

from __future__ import annotations

import argparse
import csv
import os
import re
import shlex
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from .._text import MAX_LISTED, aligned, printable
from ..federated.identity import NODE_PUBLIC_KEY, Identity, create_node_key
from ..federated.policy import Policy
from ..federated.runs import Run, Runs, cost
from ..federated.site import KEY, POLICY, Site
from ..federated.site_table import read_arrays
from ..federated.study import Study
from ..privacy import PrivacyLedger, epsilon_of
from ..privacy.floats import root_up
from ._read_rows import read
from ._terminal import print_to

# Digits that name a run in a table.
SHOWN = 8


def key(options: argparse.Namespace) -> None:
    """Make a site's folder with its keys, and print what the others need of them."""
    folder: Path = options.directory
    if (folder / KEY).exists():
        raise ValueError(
            f"{folder} has keys already, and keys are never replaced. Its public key is "
            f"{Identity.read(folder / KEY).public}; for another site, choose another DIR"
        )
    identity = Site.prepare(folder)
    create_node_key(folder)
    print(
        f"{folder}: keys were made. They stay here; nobody else needs this folder.\n"
        f"public key, for the study: {identity.public}\n"
        f"for whoever runs the server: {folder / NODE_PUBLIC_KEY}"
    )


def init(options: argparse.Namespace) -> None:
    """Write down what this site agrees to, and open its ledger."""
    folder: Path = options.directory
    _check_new(folder)
    _check_there("--study", options.study, "give the file that all sites of the study keep")
    _check_there("--table", options.table, "give the file with this site's rows")
    study = Study.read(options.study)
    ledger = folder / "study.ledger" if options.ledger is None else options.ledger
    if (options.ledger is None) is (options.epsilon is None or options.delta is None):
        raise ValueError(
            "--ledger names a ledger that exists, and --epsilon with --delta make a new one; give "
            "one of the two"
        )
    if options.ledger is None and ledger.exists():
        raise ValueError(
            f"{ledger} exists already, and a ledger is never replaced; to charge it, give --ledger "
            f"{ledger} in place of --epsilon and --delta"
        )
    if options.ledger is not None:
        _check_there("--ledger", ledger, "or give --epsilon and --delta, which make a new one")
    if options.ledger is None:
        epsilon, delta = options.epsilon, options.delta
    else:
        budget = PrivacyLedger(ledger)
        epsilon, delta = budget.epsilon, budget.delta
    m = len(study.sites)
    if options.min_sites > m:
        two = "; the other site can then subtract its own part, and learns your noisy answers alone"
        raise ValueError(
            f"--min-sites is {options.min_sites}, and the study has {m} sites, so this site would "
            f"refuse every plan. Ask for more sites in the study, or pass --min-sites {m}"
            + two
            * (m == 2)
        )
    policy = Policy(
        name=options.name,
        study=study,
        analysts=tuple(options.analyst),
        table=os.path.abspath(options.table),
        max_epsilon=epsilon if options.max_epsilon is None else options.max_epsilon,
        max_delta=delta if options.max_delta is None else options.max_delta,
        ledger=os.path.abspath(ledger),
        groups=options.groups,
        statistics=None if options.statistics is None else tuple(options.statistics),
        min_sites=options.min_sites,
        max_colluders=options.max_colluders,
    )
    policy.write(folder / POLICY)
    made = [folder / POLICY]
    try:
        if options.ledger is None:
            PrivacyLedger.create(ledger, epsilon, delta, unit=study.unit)
            made.append(ledger)
        site = _opened(folder)
        _read_now(site)
    except BaseException:
        for file in made:
            file.unlink()  # nobody has charged anything yet
        raise
    print("\n".join([f"Written: {folder / POLICY}", *_agreed(site)]))


def run(options: argparse.Namespace) -> None:
    """Answer questions until an interrupt."""
    from ..federated.flower_messages import certificates
    from ..federated.supernode import serve

    def say(text: str) -> None:
        now = datetime.now().isoformat(" ", "seconds")
        print_to("stderr", f"{now} {site.name}: {text}\n")

    site = _opened(options.directory)
    _read_now(site)
    roots = certificates(options.root_certificates, "--root-certificates ")
    try:
        serve(site, options.directory, options.server, roots, say)
    except KeyboardInterrupt:
        say("stopped")


def show(options: argparse.Namespace) -> None:
    """Print what this site agrees to, and what was asked and charged."""
    site = _opened(options.directory)
    lines = _agreed(site)
    rows = [_row(site, one) for one in _runs(site)]
    if rows:
        heads = ("run", "estimator", "questions", "epsilon", "state")
        lines += ["", f"Runs, with epsilon at delta={site.ledger.delta:g}:"]
        lines += aligned([heads, *rows])
    print("\n".join(lines))


def _command(action: str, folder: Path, *more: str) -> str:
    """A command, as it is typed."""
    return shlex.join(["skdppca", "site", action, str(folder), *more])


def _check_there(option: str, path: Path, remedy: str) -> None:
    if not path.exists():
        raise ValueError(f"{option} {path}: there is no such file; {remedy}")


def _check_new(folder: Path) -> None:
    """Refuse a folder that has no keys, or that is a site already."""
    if not (folder / KEY).exists():
        raise ValueError(f"{folder} has no keys yet; make them first: {_command('key', folder)}")
    if (folder / POLICY).exists():
        raise ValueError(
            f"{folder} is a site already. {_command('show', folder)} says what it agrees to; to "
            f"change that, stop the site and edit {folder / POLICY}; for another study, choose "
            "another DIR"
        )


def _opened(folder: Path) -> Site:
    if not (folder / POLICY).exists():
        key = "" if (folder / KEY).exists() else f"{_command('key', folder)}, and then: "
        raise ValueError(
            f"{folder / POLICY} does not exist, so {folder} is no site yet; make it by: {key}"
            f"{_command('init', folder)} --study FILE --name NAME --table FILE ..."
        )
    may_miss = Policy.read(folder / POLICY).study.missing == "mean"
    return Site(folder, partial(_rows, may_miss))


def _read_now(site: Site) -> None:
    """Read the table, so that a mistake shows now."""
    try:
        site.table  # noqa: B018
    except ValueError as error:
        if site.policy.study.missing == "error" and re.search("NaN|missing", str(error)):
            raise ValueError(
                f"{str(error).rstrip('.')}. For sites, missing='mean' stands in the study, which "
                "all of them keep: Study(..., missing='mean')"
            ) from None
        raise


def _rows(
    may_miss: bool, path: str, columns: tuple[str, ...] | int, groups: str | None
) -> tuple[Any, Any]:
    """Read the study's columns of a table, in the study's order."""
    if path.endswith((".npy", ".npz")):
        return read_arrays(path, columns, groups)
    header = _header_alone(Path(path)) if path.endswith(".csv") else None
    if header is not None:
        return _no_rows(path, header, columns, groups)
    return read(Path(path), groups, may_miss, None if isinstance(columns, int) else columns)


def _header_alone(path: Path) -> list[str] | None:
    """The names of the columns, if no row follows them: such a site takes part as all others."""
    if not path.is_file():
        return None
    with path.open(newline="", encoding="utf-8-sig", errors="replace") as file:
        lines = (cells for cells in csv.reader(file) if cells)
        try:
            first = next(lines, None)
            return first if next(lines, None) is None else None
        except csv.Error:  # a cell without an end: what reads rows says so
            return None


def _no_rows(
    path: str, header: list[str], columns: tuple[str, ...] | int, groups: str | None
) -> tuple[np.ndarray, np.ndarray | None]:
    """No rows of a study's columns."""
    wanted = () if isinstance(columns, int) else columns
    lacking = sorted({*wanted, *(() if groups is None else (groups,))} - set(header))
    if lacking:
        raise ValueError(f"{path} has no column {lacking[0]!r}; name the columns as the study does")
    n_features = len(wanted) or len(header) - (groups is not None)
    return np.zeros((0, n_features)), None if groups is None else np.zeros(0, dtype=np.intp)


def _agreed(site: Site) -> list[str]:
    policy, study = site.policy, site.policy.study
    others = ", ".join(name for name in study.sites if name != site.name)
    columns = study.columns if isinstance(study.columns, int) else _first(study.columns)
    return [
        f"{site.name} takes part in the study {study.name}, with {others}.",
        f"table: {policy.table}",
        f"columns: {columns}; a record is a {study.unit}",
        f"answers: to analysts {', '.join(policy.analysts) or 'nobody'}",
        f"with at least {policy.min_sites} sites, of which {policy.colluders} may collude",
        f"one run: at most epsilon {policy.max_epsilon:g}, delta {policy.max_delta:g}",
        f"ledger: {site.ledger.path}, remaining epsilon {site.ledger.remaining.epsilon:.6g} at "
        f"delta {site.ledger.delta:g}",
    ]


def _first(names: Sequence[str]) -> str:
    """The first names of many."""
    more = [f"{len(names) - MAX_LISTED} more ({POLICY} lists all)"] * (len(names) > MAX_LISTED)
    return ", ".join([*names[:MAX_LISTED], *more])


def _runs(site: Site) -> Sequence[Run]:
    runs = Runs(site.folder)
    return [one for name in runs.ids() if (one := runs.find(name)) is not None]


def _row(site: Site, one: Run) -> tuple[str, ...]:
    epsilon = epsilon_of(root_up(cost(one.answered)), site.ledger.delta) if one.answered else 0.0
    state = "over" if one.over else "open"
    estimator = printable(one.agreed().estimator)
    return one.id[:SHOWN], estimator, str(len(one.answered)), f"{epsilon:.6g}", state
