"""The commands and their options. Only the command that is called imports what it needs."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from .._text import meant
from .._version import __version__
from . import _argument_readers as take
from ._examples import EXAMPLES


class _Parser(argparse.ArgumentParser):
    """A parser that prints an error as one line, of the command that was called."""

    called: argparse.ArgumentParser | None = None

    def __init__(self, **own: Any) -> None:
        super().__init__(**own, formatter_class=argparse.RawDescriptionHelpFormatter)
        examples = EXAMPLES.get(self.prog.removeprefix("skdppca").strip(), ())
        lines = [line for what, command in examples for line in (f"  # {what}", f"  {command}")]
        self.epilog = "\n".join(["examples:", *lines]) if examples else None

    def error(self, message: str) -> NoReturn:
        of = self.called or self
        raise SystemExit(f"{message}{_meant(of, message)}; see {of.prog} --help")


class _Alone(argparse.Action):
    """A flag that needs none of the options of its command, and no folder."""

    def __init__(self, option_strings: Sequence[str], dest: str, **own: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, default=False, **own)

    def __call__(self, parser: argparse.ArgumentParser, options: Any, *_: Any) -> None:
        setattr(options, self.dest, True)
        for action in parser._actions:
            action.required = action.required and action.nargs == "+"
        for choice in parser._mutually_exclusive_groups:
            choice.required = False


class _InPlaceOfOut(argparse.Action):
    """An option that says where the results go, so that --out need not."""

    def __call__(self, parser: argparse.ArgumentParser, options: Any, value: Any, *_: Any) -> None:
        setattr(options, self.dest, value)
        for action in parser._actions:
            action.required = action.required and action.dest != "out"


def _meant(parser: argparse.ArgumentParser, message: str) -> str:
    """The words of a command that are like those which it does not know."""
    wrong = re.findall(
        r"(?:unrecognized arguments|invalid choice|ambiguous option): '?([^\s'=]+)", message
    )
    return meant(wrong, _words(parser), str)


def _words(parser: argparse.ArgumentParser) -> Iterator[str]:
    """All options and choices of a parser, and of the commands below it."""
    for action in parser._actions:
        yield from action.option_strings
        yield from map(str, action.choices or ())
        if isinstance(action, argparse._SubParsersAction):
            for one in action.choices.values():
                yield from _words(one)


def parser_of(called: str | None) -> argparse.ArgumentParser:
    """Return the parser, with the options of the command that is called, or of all (None).

    Only they are imported. Among all, a command whose libraries are missing has no options.
    """
    parser = _Parser(prog="skdppca", description="Differentially private PCA.")
    parser.add_argument("--version", action="version", version=f"skdppca {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, (summary, add_options) in COMMANDS.items():
        command = commands.add_parser(name, help=summary)
        if name == called:
            parser.called = command
            add_options(command)
        elif called is None:
            with suppress(ImportError):
                add_options(command)
    return parser


def _add_demo(command: argparse.ArgumentParser) -> None:
    from ._demo_command import demo
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
        help="columns to leave out ('' is the column without a name)",
    )
    command.add_argument(
        "--method",
        type=take.method,
        choices=sorted(METHODS),
        default="auto",
        help="the method; its name in Python works too, such as DPGauss (default: auto)",
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
        help="what to do with an empty cell: refuse the table, or fill with the private mean",
    )
    command.add_argument(
        "--groups",
        metavar="COLUMN",
        help="the column that says to whom each row belongs, such as patient_id. All rows with the "
        "same label are protected together. Sort the table by this column first",
    )
    command.add_argument(
        "--unit",
        metavar="NAME",
        help="the name of what a group is (default: COLUMN). Without --groups, only 'row': you "
        "declare that every record has one row",
    )
    command.add_argument(
        "--ledger", type=Path, metavar="FILE", help="the ledger that the fit is charged to"
    )
    _add_cohorts(command)
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
        help="the character between the cells of a .csv: ',' (default), ';', '|' or tab",
    )
    add_form(
        "--decimal",
        choices=[".", ","],
        help="the decimal mark in a .csv (default: a point)",
    )
    _add_words(command)
    place = command.add_mutually_exclusive_group(required=True)
    out = place.add_argument(
        "--out", type=Path, metavar="DIR", help="the folder to write the results to"
    )
    out.required = True  # named with all else that is missing, unless there is an --update
    place.add_argument(
        "--update",
        action=_InPlaceOfOut,
        type=Path,
        metavar="DIR",
        help="in place of --out: add the rows, which are those of one --cohort, to the release in "
        "DIR. The earlier release is kept in DIR.previous. If there is no DIR, start one",
    )
    command.add_argument(
        "--everybody-pays",
        action="store_true",
        help="with --update of a release that names no cohort: accept that the people who join it "
        "pay for it, too",
    )
    command.add_argument("--force", action="store_true", help="replace an earlier release in --out")
    _add_pictures(command)
    _add_details(command, "; with --check, the names of all columns")
    command.add_argument(
        "--check",
        action=_Alone,
        help="only list what is wrong with the table, by column and kind, and with --context; "
        "charges nothing, and needs no --epsilon, --delta and --out",
    )
    _add_json(command)
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
        help="number of records; a public guess is enough",
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
        help="plan for records that are groups of about ROWS rows",
    )
    add("--shared", type=take.share, metavar="SHARE")
    add("--scale")
    add("--missing")
    add("--tails", of=PrivatePCA)
    add("--gap", of=PrivatePCA)
    add("--sparse", dest="is_sparse", action="store_true", help="plan for a sparse table")
    add(
        "--cohorts",
        type=take.at_least(1, "cohorts"),
        metavar="N",
        help="number of cohorts of equal size, each fitted with this epsilon; --n counts the "
        "people of all cohorts (default: 1)",
    )
    names = ", ".join(SPECTRA)
    add(
        "--spectrum",
        help=f"assumed variances: {names} (default: {DEFAULT}), or numbers: 4,2,1,1. At the end "
        "',...' repeats the last: 4,2,1,...",
    )
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
        help="what to vary, from a tenth to ten times its value: a table, or with --plot the "
        "horizontal axis (default: epsilon)",
    )
    _add_json(command)
    command.set_defaults(run=plan_fits)


def _add_output(command: argparse.ArgumentParser, default: Path | None = None) -> None:
    command.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        default=default,
        required=default is None,
        help="the folder to write the results to" + (f" (default: {default})" if default else ""),
    )
    command.add_argument("--force", action="store_true", help="replace an earlier release there")


def _add_pictures(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--no-pictures", dest="pictures", action="store_false", help="draw nothing"
    )


def _add_details(command: argparse.ArgumentParser, more: str = "") -> None:
    command.add_argument(
        "--details", action="store_true", help=f"also print the questions that were asked{more}"
    )


def _add_words(command: argparse.ArgumentParser) -> None:
    command.add_argument("--title", metavar="TEXT", help="public title of the report")
    command.add_argument(
        "--context",
        type=Path,
        metavar="FILE",
        help="a YAML or JSON file with what you declare about the release; `skdppca declare "
        "--template` prints one to fill in",
    )


def _add_cohorts(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--cohorts",
        "--cohort",
        type=take.names,
        metavar="A,B",
        help="the cohorts whose records are read; only these are charged (default: all people)",
    )


def _add_ledger(command: argparse.ArgumentParser) -> None:
    from ..privacy import PrivacyLedger
    from ._ledger_command import charge, create, show, verify
    from ._parameter_options import add_parameter

    actions = command.add_subparsers(required=True, metavar="ACTION")
    creation = actions.add_parser("create", help="open an account with a total budget")
    creation.add_argument("--epsilon", type=take.epsilon, required=True, help="total budget")
    add_parameter(creation, "--delta", type=take.delta, required=True, sentences=2)
    add_parameter(creation, "--adjacency")
    add_parameter(
        creation,
        "--unit",
        help="what is protected as a whole: row, or the name of a column of labels",
    )
    add_parameter(
        creation,
        "--max-cohorts-per-person",
        of=PrivacyLedger.create,
        type=take.at_least(1, "cohorts"),
        metavar="N",
    )
    creation.set_defaults(run=create)
    external = actions.add_parser("charge", help="charge what another tool releases")
    external.add_argument("--label", required=True, help="public text: the tool and its release")
    external.add_argument(
        "--epsilon", type=take.number, help="epsilon of the release; give --delta, too"
    )
    external.add_argument(
        "--delta", type=take.delta, help="delta of the release; 0 for pure differential privacy"
    )
    external.add_argument(
        "--mu",
        type=take.positive,
        help="in place of epsilon and delta: mu of a Gaussian release, which is the sensitivity "
        "divided by the standard deviation of the noise",
    )
    add_parameter(
        external,
        "--adjacency",
        default=None,
        help="the neighbours that the guarantee of the release is stated for (default: those of "
        "the ledger)",
    )
    _add_cohorts(external)
    external.add_argument(
        "--force",
        action="store_true",
        help="charge the release even if its delta leaves none for later",
    )
    external.set_defaults(run=charge)
    listing = actions.add_parser("show", help="list charges, and what is left")
    listing.add_argument("--plot", type=Path, metavar="FILE", help="a picture: .png, .pdf or .svg")
    listing.add_argument(
        "--over",
        choices=("charge", "time"),
        default="charge",
        help="the horizontal axis of the picture",
    )
    _add_json(listing)
    listing.set_defaults(run=show)
    check = actions.add_parser(
        "verify", help="check that no charge was changed, and that reports agree with the ledger"
    )
    check.add_argument(
        "--report",
        type=Path,
        nargs="+",
        default=[],
        metavar="REPORT",
        help="a DIR that a fit wrote, or its report.json: the ledger must hold its release",
    )
    check.set_defaults(run=verify)
    for action in (creation, external, listing, check):
        action.add_argument("file", type=Path, metavar="FILE")


def _add_merge(command: argparse.ArgumentParser) -> None:
    from ._merge_command import merge

    command.add_argument(
        "directories",
        type=Path,
        nargs="+",
        metavar="DIR",
        help="folders that `skdppca fit` wrote, at least two, each a release of the same columns",
    )
    command.add_argument(
        "--disjoint",
        action="store_true",
        help="declare that nobody has records in two of the releases: then the guarantee is that "
        "of the largest part (default: the costs of all parts add up)",
    )
    command.add_argument(
        "-k",
        "--components",
        dest="n_components",
        type=take.at_least(1, "components"),
        metavar="K",
        help="number of components (default: as many as the smallest part has)",
    )
    _add_words(command)
    _add_output(command)
    _add_pictures(command)
    _add_details(command)
    _add_json(command)
    command.set_defaults(run=merge)


def _add_report(command: argparse.ArgumentParser) -> None:
    from ._report_command import report

    _add_release(command)
    _add_details(command)
    _add_json(command)
    command.add_argument(
        "--page", type=Path, metavar="FILE", help="write the page, made anew from the release"
    )
    command.set_defaults(run=report)


def _add_declare(command: argparse.ArgumentParser) -> None:
    from ._declare_command import declare

    _add_release(command)
    _add_words(command)
    _add_output(command)
    command.add_argument(
        "--template",
        action=_Alone,
        help="print a file for --context with the ten questions; needs no DIR and no --out",
    )
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
    command.add_argument(
        "--seed",
        type=int,
        help="a number, to draw the same rows again; privacy does not depend on it",
    )
    command.add_argument(
        "--force", action="store_true", help="replace FILE, if it is labelled as synthetic"
    )
    command.set_defaults(run=sample)


def _add_release(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "directory", type=Path, metavar="DIR", help="the folder that `skdppca fit` wrote"
    )


def _add_site(command: argparse.ArgumentParser) -> None:
    from ..federated.policy import Policy
    from ._parameter_options import add_parameter
    from ._site_command import init, key, run, show

    actions = command.add_subparsers(required=True, metavar="ACTION")
    keys = actions.add_parser("key", help="make a folder with this site's keys")
    keys.set_defaults(run=key)
    start = actions.add_parser("init", help="write down what this site agrees to")
    start.add_argument(
        "--study",
        type=Path,
        required=True,
        metavar="FILE",
        help="the study, the same file at all sites",
    )
    start.add_argument("--name", required=True, help="the name of this site in the study")
    start.add_argument(
        "--table", type=Path, required=True, metavar="FILE", help="the data of this site"
    )
    start.add_argument(
        "--groups",
        metavar="COLUMN",
        help="the column that says to whom each row belongs; needed unless the unit is a row",
    )
    start.add_argument(
        "--analyst",
        nargs="+",
        required=True,
        metavar="KEY",
        help="public keys of the people who may ask questions",
    )
    start.add_argument("--ledger", type=Path, metavar="FILE", help="an existing ledger to charge")
    start.add_argument(
        "--epsilon", type=take.epsilon, help="budget of a new ledger; give --delta, too"
    )
    start.add_argument(
        "--delta",
        type=take.delta,
        help="delta of the new ledger, well below 1 / (number of records)",
    )
    start.add_argument(
        "--max-epsilon",
        type=take.number,
        help="the most that one run may charge (default: the budget)",
    )
    start.add_argument(
        "--max-delta",
        type=take.number,
        help="the largest delta of one run (default: that of the budget)",
    )
    start.add_argument(
        "--statistics",
        nargs="+",
        metavar="KIND",
        help="the kinds of sums that may be asked for (default: all)",
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
    start.set_defaults(run=init)
    serving = actions.add_parser("run", help="answer questions until Ctrl-C")
    serving.add_argument("--server", required=True, metavar="HOST:PORT")
    serving.add_argument(
        "--root-certificates",
        type=Path,
        metavar="FILE",
        help="the certificates that the server is checked against",
    )
    serving.set_defaults(run=run)
    showing = actions.add_parser("show", help="list the questions and the charges")
    showing.set_defaults(run=show)
    for action in (keys, start, serving, showing):
        action.add_argument("directory", type=Path, metavar="DIR", help="the folder of this site")


def _add_completion(command: argparse.ArgumentParser) -> None:
    from ._completion import SHELLS, completion

    command.add_argument("shell", choices=SHELLS, help="the shell to write for")
    command.set_defaults(run=completion)


def _add_json(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="print JSON in place of the text")


def _add_verify(command: argparse.ArgumentParser) -> None:
    from ._verify_command import verify_release

    _add_release(command)
    command.add_argument(
        "--ledger",
        type=Path,
        metavar="FILE",
        help="the ledger to compare with: it must hold the charge and the release",
    )
    command.add_argument(
        "--head",
        metavar="HEX",
        help="the head of the ledger that you noted when you got the release: 64 hexadecimal "
        "digits, which `skdppca fit` prints last",
    )
    command.add_argument(
        "--signer",
        type=Path,
        metavar="KEY",
        help="the SSH public key of the signer of SHA256SUMS (ssh-keygen -Y sign -n skdppca)",
    )
    _add_json(command)
    command.set_defaults(run=verify_release)


# What the first argument may be: the command's summary, and what adds its options.
COMMANDS: dict[str, tuple[str, Callable[[argparse.ArgumentParser], None]]] = {
    "completion": ("print a script that lets a shell complete commands", _add_completion),
    "demo": ("release private components of public digits, with a ledger and a page", _add_demo),
    "fit": ("release private components of a table", _add_fit),
    "plan": ("predict what each method finds; reads no data", _add_plan),
    "sample": ("draw synthetic rows from a release, at no privacy cost", _add_sample),
    "declare": (
        "copy a release, with another title or with answers that it did not have",
        _add_declare,
    ),
    "ledger": (
        "open, charge, list or check a ledger: a file with a budget and its charges",
        _add_ledger,
    ),
    "merge": ("combine several releases into one, at no privacy cost", _add_merge),
    "report": ("print what a release found and what it cost", _add_report),
    "site": ("run one site of a study whose sites hold different people", _add_site),
    "verify": (
        "check a report against its files, a ledger and a signature; status 1 if they differ",
        _add_verify,
    ),
}
