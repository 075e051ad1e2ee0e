"""The commands and their options. Only the command that is called imports what it needs."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NoReturn

from .._version import __version__
from . import _argument_readers as take

__all__ = ["COMMANDS", "parser_of"]


class _Parser(argparse.ArgumentParser):
    """A parser that prints an error as one line."""

    def error(self, message: str) -> NoReturn:
        raise SystemExit(f"{message}; see {self.prog} --help")


def parser_of(called: str) -> argparse.ArgumentParser:
    """Return the parser. Only the command that is called imports what its options need."""
    parser = _Parser(prog="skdppca", description="Differentially private PCA.")
    parser.add_argument("--version", action="version", version=f"skdppca {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, (summary, add_options) in COMMANDS.items():
        command = commands.add_parser(name, help=summary)
        if name == called:
            add_options(command)
    return parser


def _add_demo(command: argparse.ArgumentParser) -> None:
    from ._fit_command import demo
    from ._parameter_options import add_parameter

    add_parameter(command, "--epsilon", type=take.any_epsilon)
    add_parameter(command, "--delta", type=take.delta, sentences=2)
    _add_output(command, default=Path("demo"))
    _add_pictures(command)
    command.set_defaults(run=demo)


def _add_fit(command: argparse.ArgumentParser) -> None:
    from ._csv_files import CsvFormat
    from ._fit_command import METHODS, fit
    from ._parameter_options import add_parameter

    command.add_argument(
        "data",
        type=Path,
        nargs="+",
        metavar="DATA",
        help="a file of any size, several files of one table, or a folder of them: .csv, .parquet, "
        ".feather or .arrow; or one .npy or .npz",
    )
    chosen = command.add_mutually_exclusive_group()
    chosen.add_argument(
        "--columns", type=take.names, metavar="A,B", help="the features (default: all columns)"
    )
    chosen.add_argument(
        "--drop",
        type=take.dropped,
        default=[],
        metavar="A,B",
        help="columns that are no features ('': the one without a name)",
    )
    command.add_argument(
        "--method",
        type=take.method,
        choices=sorted(METHODS),
        default="auto",
        help="also by the name that it has in Python: DPGauss (default: auto)",
    )
    add_parameter(
        command,
        "-k",
        "--components",
        dest="n_components",
        type=take.components,
        default="auto",
        metavar="K",
        help="a number, a share of the variance, auto (above the noise; default) or mle",
    )
    add_parameter(command, "--epsilon", type=take.any_epsilon, required=True)
    add_parameter(command, "--delta", type=take.delta, required=True, sentences=2)
    add_parameter(command, "--adjacency")
    add_parameter(command, "--norm-bound", type=take.positive, metavar="R", sentences=2)
    add_parameter(
        command, "--no-center", dest="center", action="store_false", help="do not subtract the mean"
    )
    add_parameter(command, "--scale", help="divide features by private scales, as a scaler would")
    add_parameter(
        command,
        "--missing",
        help="what an empty cell is: an error, or an entry to fill with the private mean",
    )
    command.add_argument(
        "--groups",
        metavar="COLUMN",
        help="whose row it is, as text: protects all rows of one; the table is sorted by it",
    )
    command.add_argument(
        "--unit",
        metavar="NAME",
        help="what a group is (default: COLUMN); without --groups, row: every record has one row",
    )
    command.add_argument("--ledger", type=Path, metavar="FILE", help="charged before the fit")
    add_form = partial(add_parameter, command, of=CsvFormat)
    add_form(
        "--header",
        action=argparse.BooleanOptionalAction,
        help="whether the first line of a .csv has names (default: yes, if all look like names)",
    )
    add_form(
        "--delimiter",
        type=take.delimiter,
        metavar="CHAR",
        help="what stands between cells of a .csv: ',' (default), ';', '|' or tab",
    )
    add_form(
        "--decimal",
        choices=[".", ","],
        help="what stands before decimals in a .csv (default: a point)",
    )
    _add_words(command)
    _add_output(command)
    _add_pictures(command)
    command.set_defaults(run=fit)


def _add_plan(command: argparse.ArgumentParser) -> None:
    from ..decomposition import PrivatePCA
    from ..planner import plan
    from ..planner.spectra import DEFAULT, SPECTRA
    from ._parameter_options import add_parameter
    from ._plan_command import AXES, PLANNED, plan_fits

    add = partial(add_parameter, command, of=plan)
    add(
        "--n",
        dest="n_samples",
        type=take.at_least(2, "records"),
        required=True,
        metavar="N",
        help="records: a public guess will do",
    )
    add("--d", dest="n_features", type=take.at_least(1, "features"), required=True, metavar="D")
    add(
        "-k",
        "--k",
        "--components",
        dest="n_components",
        type=take.components,
        required=True,
        metavar="K",
        help="a number, a share of the variance, auto or mle, as for fit",
    )
    add(
        "--epsilon",
        type=take.epsilon,
        help="privacy budget of one fit, or of all --releases together",
    )
    add("--delta", type=take.delta, of=PrivatePCA, sentences=2)
    command.add_argument(
        "--releases",
        type=take.at_least(1, "releases"),
        default=1,
        metavar="N",
        help="fits of equal cost that share epsilon; the plan is for one of them (default: 1)",
    )
    add("--adjacency", of=PrivatePCA)
    add(
        "--groups",
        dest="group_size",
        type=take.at_least(1, "rows"),
        metavar="ROWS",
        help="a record is a group of about ROWS rows",
    )
    add("--shared", type=take.share, metavar="SHARE")
    add("--scale")
    add("--missing")
    add("--tails", of=PrivatePCA)
    add("--gap", of=PrivatePCA)
    add("--sparse", dest="is_sparse", action="store_true", help="the table will be sparse")
    names = ", ".join(SPECTRA)
    add("--spectrum", help=f"assumed variances: {names} (default: {DEFAULT}), or numbers: 4,2,1,1")
    command.add_argument(
        "--method",
        nargs="+",
        type=take.method,
        choices=sorted(PLANNED),
        help="only these (default: all)",
    )
    command.add_argument("--plot", type=Path, metavar="FILE", help="a picture: .png, .pdf or .svg")
    command.add_argument(
        "--over",
        choices=[*AXES],
        help="a table from a tenth to ten times of it; with --plot, its axis (default: epsilon)",
    )
    command.set_defaults(run=plan_fits)


def _add_output(command: argparse.ArgumentParser, default: Path | None = None) -> None:
    command.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        default=default,
        required=default is None,
        help="where the results go" + (f" (default: {default})" if default else ""),
    )
    command.add_argument("--force", action="store_true", help="replace an earlier release there")


def _add_pictures(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--no-pictures", dest="pictures", action="store_false", help="draw nothing"
    )


def _add_words(command: argparse.ArgumentParser) -> None:
    command.add_argument("--title", metavar="TEXT", help="public title of the report")
    command.add_argument(
        "--context",
        type=Path,
        metavar="FILE",
        help="what you declare about the release: YAML or JSON, as skdppca.report.Context takes it",
    )


def _add_ledger(command: argparse.ArgumentParser) -> None:
    from ._ledger_command import charge, create, show, verify
    from ._parameter_options import add_parameter

    actions = command.add_subparsers(required=True, metavar="ACTION")
    creation = actions.add_parser("create", help="open an account with a total budget")
    creation.add_argument("--epsilon", type=take.epsilon, required=True, help="total budget")
    add_parameter(creation, "--delta", type=take.delta, required=True, sentences=2)
    add_parameter(creation, "--adjacency")
    add_parameter(creation, "--unit", help="what is protected: a column of labels")
    creation.set_defaults(run=create)
    external = actions.add_parser("charge", help="charge what another tool releases")
    external.add_argument("--label", required=True, help="public text: the tool and its release")
    external.add_argument("--epsilon", type=take.number, help="of the release, with --delta")
    external.add_argument("--delta", type=take.delta, help="0 for pure differential privacy")
    external.add_argument(
        "--mu", type=take.positive, help="of a Gaussian release, instead: sensitivity over noise sd"
    )
    add_parameter(external, "--adjacency", help="what the release's guarantee is stated for")
    external.add_argument(
        "--force", action="store_true", help="charge it even if its delta takes all that is left"
    )
    external.set_defaults(run=charge)
    listing = actions.add_parser("show", help="list charges, and what is left")
    listing.add_argument("--plot", type=Path, metavar="FILE", help="a picture: .png, .pdf or .svg")
    listing.add_argument(
        "--over", choices=("charge", "time"), default="charge", help="what runs along its axis"
    )
    listing.set_defaults(run=show)
    check = actions.add_parser("verify", help="check the chain of charges, and reports with it")
    check.add_argument(
        "--report",
        type=Path,
        nargs="+",
        default=[],
        metavar="REPORT",
        help="DIR of a fit, or its report.json, whose release must be in the ledger",
    )
    check.set_defaults(run=verify)
    for action in (creation, external, listing, check):
        action.add_argument("file", type=Path, metavar="FILE")


def _add_report(command: argparse.ArgumentParser) -> None:
    from ._report_command import report

    _add_release(command)
    command.set_defaults(run=report)


def _add_declare(command: argparse.ArgumentParser) -> None:
    from ._declare_command import declare

    _add_release(command)
    _add_words(command)
    _add_output(command)
    command.set_defaults(run=declare)


def _add_sample(command: argparse.ArgumentParser) -> None:
    from ._sample_command import sample

    _add_release(command)
    command.add_argument(
        "-n",
        "--rows",
        type=take.at_least(1, "rows"),
        required=True,
        metavar="N",
        help="how many rows to draw",
    )
    command.add_argument(
        "-o", "--out", type=Path, required=True, metavar="FILE", help="the .csv to write"
    )
    command.add_argument("--seed", type=int, help="draw the same rows again (no matter of privacy)")
    command.add_argument(
        "--force", action="store_true", help="replace FILE, if it is labelled as synthetic"
    )
    command.set_defaults(run=sample)


def _add_release(command: argparse.ArgumentParser) -> None:
    command.add_argument("directory", type=Path, metavar="DIR", help="what `skdppca fit` wrote")


def _add_site(command: argparse.ArgumentParser) -> None:
    from ._parameter_options import add_parameter
    from ._site_command import Policy, approve, init, key, reject, run, show, void

    actions = command.add_subparsers(required=True, metavar="ACTION")
    keys = actions.add_parser("key", help="make a folder with this site's keys")
    keys.set_defaults(run=key)
    start = actions.add_parser("init", help="write down what this site agrees to")
    start.add_argument("--study", type=Path, required=True, metavar="FILE", help="of all sites")
    start.add_argument("--name", required=True, help="of this site, as the study calls it")
    start.add_argument("--table", type=Path, required=True, metavar="FILE", help="this site's data")
    start.add_argument("--groups", metavar="COLUMN", help="whose row it is, if the unit is no row")
    start.add_argument(
        "--analyst", nargs="+", required=True, metavar="KEY", help="public keys of who may ask"
    )
    start.add_argument("--ledger", type=Path, metavar="FILE", help="that there is already")
    start.add_argument("--epsilon", type=take.epsilon, help="budget of a new ledger, with --delta")
    start.add_argument("--delta", type=take.delta, help="well below 1 / records")
    start.add_argument("--max-epsilon", type=take.number, help="of one run (default: the budget)")
    start.add_argument(
        "--max-delta", type=take.number, help="of one run (default: that of the budget)"
    )
    start.add_argument(
        "--statistics", nargs="+", metavar="KIND", help="what may be asked for (default: all)"
    )
    add_parameter(start, "--min-sites", of=Policy, type=int, metavar="N")
    add_parameter(
        start,
        "--max-colluders",
        of=Policy,
        type=int,
        metavar="N",
        help="most sites that may collude against this one (default: as the study states)",
    )
    start.add_argument(
        "--approve-all", action="store_true", help="agree to plans without asking a person"
    )
    start.set_defaults(run=init)
    serving = actions.add_parser("run", help="answer questions until Ctrl-C")
    serving.add_argument("--server", required=True, metavar="HOST:PORT")
    serving.add_argument(
        "--root-certificates", type=Path, metavar="FILE", help="that may vouch for the server"
    )
    serving.set_defaults(run=run)
    showing = actions.add_parser("show", help="plans that wait, and what was asked and charged")
    showing.set_defaults(run=show)
    agreement = actions.add_parser("approve", help="agree to a plan that waits")
    agreement.set_defaults(run=approve)
    rejection = actions.add_parser("reject", help="turn down a plan that waits")
    rejection.set_defaults(run=reject)
    ending = actions.add_parser("void", help="end open runs, or one of them")
    ending.set_defaults(run=void)
    for action in (keys, start, serving, showing, agreement, rejection, ending):
        action.add_argument("directory", type=Path, metavar="DIR", help="of this site")
    for action in (agreement, rejection):
        action.add_argument("digest", metavar="PLAN", help="its digest, as `show` prints it")
    ending.add_argument(
        "name", metavar="RUN", nargs="?", help="as `show` prints it (default: all open runs)"
    )


def _add_verify(command: argparse.ArgumentParser) -> None:
    from ._verify_command import verify_release

    _add_release(command)
    command.add_argument(
        "--ledger", type=Path, metavar="FILE", help="that must have the charge and the release"
    )
    command.add_argument(
        "--head", metavar="HEX", help="a head of the ledger that was kept where its owner is not"
    )
    command.add_argument(
        "--signer",
        type=Path,
        metavar="KEY",
        help="the SSH public key of who signed MANIFEST.json (ssh-keygen -Y sign -n skdppca)",
    )
    command.set_defaults(run=verify_release)


# What the first argument may be: the command's summary, and what adds its options.
COMMANDS: dict[str, tuple[str, Callable[[argparse.ArgumentParser], None]]] = {
    "demo": ("a private PCA of scikit-learn's digits", _add_demo),
    "fit": ("release private components of a table", _add_fit),
    "plan": ("what to expect of each method; reads no data", _add_plan),
    "sample": ("draw synthetic rows from a release, at no privacy cost", _add_sample),
    "declare": (
        "copy a release with another title, or answers to what it did not state",
        _add_declare,
    ),
    "ledger": ("a file that holds a budget and its charges", _add_ledger),
    "report": ("say in words what a fit released", _add_report),
    "site": ("one site of a study of several that share no row", _add_site),
    "verify": (
        "whether a report, its files, a ledger and a signature agree; 1 if something differs",
        _add_verify,
    ),
}
