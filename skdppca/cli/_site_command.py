"""``skdppca site``: one site of a study of several. See the guide's page "Across sites"."""

from __future__ import annotations

import argparse
import os
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from .._text import listed
from ..federated.identity import NODE_PUBLIC_KEY, create_node_key
from ..federated.policy import Policy
from ..federated.site import KEY, POLICY, Site
from ..federated.site_table import read_arrays
from ..federated.study import Study
from ..privacy import PrivacyLedger
from ._read_rows import read
from ._terminal import print_to


def key(options: argparse.Namespace) -> None:
    """Make a site's folder with its keys, and print what the others need of them."""
    folder: Path = options.directory
    identity = Site.prepare(folder)
    create_node_key(folder)
    print(
        f"{folder}: keys were made. They stay here; nobody else needs this folder.\n"
        f"public key, for the study: {identity.public}\n"
        f"for whoever runs the server: {folder / NODE_PUBLIC_KEY}"
    )


def init(options: argparse.Namespace) -> None:
    """Write down what this site agrees to."""
    folder: Path = options.directory
    if not (folder / KEY).exists():
        raise ValueError(f"{folder} has no keys yet; make them first: skdppca site key {folder}")
    ledger = PrivacyLedger(options.ledger)
    policy = Policy(
        name=options.name,
        study=Study.read(options.study),
        analysts=tuple(options.analyst),
        table=os.path.abspath(options.table),
        max_epsilon=ledger.epsilon if options.max_epsilon is None else options.max_epsilon,
        max_delta=ledger.delta if options.max_delta is None else options.max_delta,
        ledger=os.path.abspath(options.ledger),
        groups=options.groups,
        statistics=None if options.statistics is None else tuple(options.statistics),
        min_sites=options.min_sites,
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


def run(options: argparse.Namespace) -> None:
    """Answer questions until an interrupt."""
    from ..federated.supernode import serve

    def say(text: str) -> None:
        now = datetime.now().isoformat(" ", "seconds")
        print_to("stderr", f"{now} {site.name}: {text}\n")

    site = _opened(options.directory)
    site.table  # noqa: B018  # a mistake shows now
    path = options.root_certificates
    roots = None if path is None else path.read_bytes()
    try:
        serve(site, options.directory, options.server, roots, say)
    except KeyboardInterrupt:
        say("stopped")


def show(options: argparse.Namespace) -> None:
    """Print what this site agrees to."""
    print(_agreed(_opened(options.directory)))


def _opened(folder: Path) -> Site:
    if not (folder / POLICY).exists():
        raise ValueError(
            f"{folder / POLICY} does not exist, so {folder} is no site yet; make it by "
            f"skdppca site key {folder} and skdppca site init {folder}"
        )
    may_miss = Policy.read(folder / POLICY).study.missing == "mean"
    return Site(folder, partial(_rows, may_miss))


def _rows(
    may_miss: bool, path: str, columns: tuple[str, ...] | int, groups: str | None
) -> tuple[Any, Any]:
    """Read the study's columns of a table, in the study's order."""
    if path.endswith((".npy", ".npz")):
        return read_arrays(path, columns, groups)
    return read(Path(path), groups, may_miss, None if isinstance(columns, int) else columns)


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
