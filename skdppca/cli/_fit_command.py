"""``skdppca fit``. It charges only after every other check has passed."""

from __future__ import annotations

import math
from argparse import BooleanOptionalAction
from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from shlex import quote
from typing import Any, Literal

from .._text import printable
from .._text.digits import up
from ..decomposition import METHODS as REGISTRY
from ..decomposition import BasePrivatePCA, PrivatePCA
from ..privacy import PrivacyReport, epsilon_of_event
from ..privacy.fit_report import no_scales
from ..private_data import Public
from ..report import ReleaseReport
from ..report._context import check_words
from ..report._directory import Directory, writing
from ..report._results import advice, results
from . import _parameter_options as take
from ._charged_ledger import Charged, check_counts, check_there, command, told
from ._column_names import Wanted
from ._context_file import context_of
from ._csv_files import DELIMITERS, CsvFormat
from ._json import FitDocument
from ._out_directory import apart, not_stated, replaced, spare, where_written, write
from ._parameter_options import Command, Frees, argument, flag, option, parameters
from ._read_rows import files_of, looked_at, opened
from ._rehearsal import rehearse
from ._terminal import Unusable, print_to, progress
from ._update import Earlier, check_options

METHODS: dict[str, type[BasePrivatePCA]] = {"auto": PrivatePCA}
METHODS |= {method.command: method.estimator for method in REGISTRY.values()}
SEES_NO_SPECTRUM = {method.command for method in REGISTRY.values() if not method.spectral}

# One feature with this share of a component's squared norm dominates the component.
NEARLY_ALL = 0.99

CHARGED = " Nothing was charged."

# Said of every table, whatever is in it: which units it has is not looked at.
UNITS = (
    "Columns keep their units, so those with the largest numbers make the first components. If the "
    "units differ, fit with --scale private."
)


@dataclass(kw_only=True)
class FitCommand(Command):
    """Release private components of a table.

    Parameters
    ----------
    data : list of Path
        A file of any size, several files of one table, or a folder of them: .csv, .parquet,
        .feather or .arrow; or one .npy or .npz.
    columns : list of str or None
        The features (default: all columns).
    drop : list of str
        Columns to leave out ('' is the column without a name).
    method : str
        The method; its name in Python works too, such as DPGauss.
    n_components : int, float or str
        A number, a share of the variance, auto (above the noise; default) or mle.
    center : bool
        Do not subtract the mean.
    scale : str, dict or None
        Divide features by private scales, as a scaler would: all ('private'), or some by name
        ('private:A,B'), such as the numbers of a table that has one-hot columns, too.
    missing : str
        What to do with an empty cell: refuse the table, or fill with the private mean.
    groups : str or None
        The column that says to whom each row belongs, such as patient_id. All rows with the same
        label are protected together. Sort the table by this column first.
    unit : str or None
        The name of what a group is (default: COLUMN). Without --groups, only 'row': you declare
        that every record has one row.
    ledger : Path or None
        The ledger that the fit is charged to.
    header : bool or None
        Whether the first line of a .csv has names (default: yes, if all look like names).
    delimiter : str
        The character between the cells of a .csv: ',' (default), ';', '|' or tab.
    decimal : str
        The decimal mark in a .csv (default: a point).
    update : Path or None
        In place of --out: add the rows to the release in DIR. Their people are charged alone, in
        the --ledger that is theirs. The earlier release is kept in DIR.previous. If there is no
        DIR, start one.
    details : bool
        Also print the questions that were asked; with --check, the names of all columns.
    check : bool
        Only list what is wrong with the table, by column and kind, and with --context; charges
        nothing, and needs no --epsilon, --delta and --out.

    Examples
    --------
    skdppca fit patients.csv --groups patient_id --check
    skdppca fit rows.csv --epsilon 1 --delta 1e-6 --ledger rows.ledger --out release/
    """

    data: list[Path] = argument(nargs="+", metavar="DATA")
    columns: list[str] | None = option(type=take.names, metavar="A,B", group="columns")
    drop: list[str] = option(type=take.names, default=[], metavar="A,B", group="columns")
    method: str = option(type=take.method, choices=sorted(METHODS), default="auto")
    n_components: int | float | str = option(
        "-k", "--components", type=take.components, default="auto", metavar="K"
    )
    epsilon: float = option(of=PrivatePCA, required=True)
    delta: float = option(of=PrivatePCA, required=True, sentences=2)
    adjacency: Literal["add-remove", "replace-one"] = option(of=PrivatePCA)
    norm_bound: float | None = option(of=PrivatePCA, metavar="R", sentences=2)
    center: bool = option("--no-center", of=PrivatePCA, action="store_false")
    scale: str | dict[str, str] | None = option(
        of=PrivatePCA, type=take.scales, metavar="private[:A,B]"
    )
    missing: str = option(of=PrivatePCA)
    groups: str | None = option(metavar="COLUMN")
    unit: str | None = option(metavar="NAME")
    ledger: Path | None = option(metavar="FILE")
    header: bool | None = option(of=CsvFormat, action=BooleanOptionalAction)
    delimiter: str = option(
        of=CsvFormat, type=take.delimiter, choices=[*DELIMITERS], metavar="CHAR"
    )
    decimal: str = option(of=CsvFormat, choices=[".", ","])
    title: str | None = option(metavar="TEXT")
    context: Path | None = option(metavar="FILE")
    out: Path = option(metavar="DIR", required=True, group="out")
    update: Path | None = option(metavar="DIR", action=Frees, frees=("out",), group="out")
    force: bool = flag()
    pictures: bool = option("--no-pictures", action="store_false")
    details: bool = flag()
    check: bool = option(action=Frees, nargs=0, frees=("epsilon", "delta", "out"))
    json: bool = flag()

    def run(self) -> int:
        """Fit, and write what was released; or only check the table."""
        if not self.check:
            return fit(self)
        if self.json:
            raise ValueError("--check has no JSON output; leave out --json")
        return check_table(self)


def _wanted(options: FitCommand) -> tuple[Wanted, CsvFormat]:
    """The columns that the options ask for, and the form of a ``.csv``."""
    # of a cohort that joins, the number of records is private, and may be none
    private = options.adjacency == "add-remove" and options.epsilon != math.inf
    want = Wanted(
        options.groups,
        options.columns,
        options.drop,
        alone=options.unit is not None,
        may_miss=options.missing == "mean",
        may_be_empty=options.update is not None and private,
        details=options.details,
        scaled=[*options.scale] if isinstance(options.scale, dict) else [],
    )
    return want, CsvFormat(**parameters(options, signature(CsvFormat)))


def check_table(options: FitCommand) -> int:
    """Print all that a fit would refuse of a table; return 1 if there is something, else 0.

    No cell is quoted, and no row or count is told. Nothing is fitted or charged.
    """
    files, n_features = files_of(options.data), 0
    name = files[0].name if len(files) == 1 else "the table"
    try:
        rows, faults = looked_at(files, *_wanted(options), every=True)
        n_features = 0 if faults else rows.n_features
    except Unusable as error:
        faults = [options.in_options(str(error))]
    stated = []
    try:
        check_words(options.title, context_of(options.context))
    except (ValueError, TypeError, OSError, ImportError) as error:
        stated = [str(error)]
    if not faults:
        print(f"{name}: no fault was found in its {n_features} features.{CHARGED * (not stated)}")
    else:
        print("\n".join([f"{name}: a fit would refuse it.", *(f"- {fault}" for fault in faults)]))
    print("".join(f"A fit would refuse this, too: {fault}.\n" for fault in stated), end="")
    if faults or stated:
        print(CHARGED.strip())
    elif options.scale is None and n_features > 1:
        print(UNITS)
    return 1 if faults or stated else 0


def fit(options: FitCommand) -> int:
    """Read a table, charge the ledger, fit, and write what was released."""
    unit = _unit(options.groups, options.unit)
    if options.update is not None:
        check_options(options, options.update)
    ledger = None if options.ledger is None else Charged(check_there(options.ledger))
    spare(options.out, *files_of(options.data), options.ledger)
    apart(options.out, *(folder for folder in options.data if folder.is_dir()))
    earlier = replaced(options.out) if options.force else []
    replaces = options.force or options.update is not None
    with writing(options.out, replaces) as directory, progress() as show:
        said = told(lambda: _release(options, unit, ledger, directory, show), ledger, directory)
    print("\n".join([said, *([] if options.json else earlier)]))
    return 0


def _release(
    options: FitCommand,
    unit: str,
    ledger: Charged | None,
    directory: Directory,
    show: Callable[[str, float], None],
) -> str:
    """Read, rehearse, charge and fit, write, and say what was done."""
    earlier = None if options.update is None else Earlier.there(options.out)
    if earlier is not None:
        earlier.take_over(options)
    if ledger is not None:
        check_counts(ledger, options.adjacency, unit)
    if options.method in SEES_NO_SPECTRUM and not isinstance(options.n_components, int):
        raise ValueError(
            f"--method {options.method} sees no spectrum to choose a number of components by; give "
            "one: -k K"
        )
    pca = METHODS[options.method]() if earlier is None else earlier.fitted
    given = parameters(options, signature(type(pca)))
    pca.set_params(**given | {"unit": unit, "accountant": ledger})
    pca._validate_params()
    show("reading", 0.0)
    rows = opened(options.data, *_wanted(options))
    show("trying with made-up data", 0.25)
    facts = Public(rows.n_features, options.adjacency, unit, rows.is_sparse)
    pca._check_memory(facts)  # first: the names may be more than the machine holds, too
    names, context = rows.names, context_of(options.context)
    if earlier is not None:
        earlier.check_columns(names)
        context = earlier.context(context)
    words = dict[str, Any](title=options.title, context=context, pictures=options.pictures)
    rehearse(options, names, unit, ledger, words, directory)
    print_to("stderr", "" if earlier is None else earlier.kept(options))
    show("checking, charging and fitting", 0.5)
    whole = bool(pca._beyond(facts))

    def tell(number: int) -> None:
        show(f"pass {number} over the files" if number else "checking the files", 0.5)

    rows.fit(pca, tell, whole, joins=options.update is not None)
    show("writing", 0.75)
    report = ReleaseReport(pca, feature_names=names, **words)
    written = write(report, directory)
    document = report.dict()
    if options.json:
        return str(FitDocument(str(options.out), written, report.no_pictures, document))
    lines = results(document, printable(str(options.ledger)), options.details)
    lines += [] if earlier or no_scales(pca.privacy_) else _units(pca, names)
    lines += [where_written(options.out, written, report.no_pictures), *advice(document)]
    lines += [] if earlier is None else earlier.said()
    lines += not_stated(options.out, options.title, options.context)
    return "\n".join([*lines, *_charged(pca.privacy_, ledger, options)])


def _unit(groups: str | None, name: str | None) -> str:
    if name not in (None, "row") and groups is None:
        raise ValueError(
            f"--unit {name} needs --groups COLUMN, the column that says to whom each row belongs"
        )
    unit = name or groups or "row"
    if groups is not None and unit == "row":
        raise ValueError(
            "a group cannot be called 'row', which means no groups; name it with --unit"
        )
    if unit != printable(unit):
        raise ValueError(
            f"a group cannot be called '{unit}', which has characters that cannot be printed, or "
            "bytes that are no UTF-8; name it with --unit"
        )
    return unit


def _charged(report: PrivacyReport, ledger: Charged | None, options: FitCommand) -> list[str]:
    """Lines about the cost to the ledger and its head; or the command that charges the fit."""
    if ledger is None:
        how = f"To count it, charge it to the ledger of the same people:\n  {command(report)}"
        return [how] if report.private else []
    lines = []
    if ledger.paid is not None and options.delta != ledger.delta:
        cost = up(epsilon_of_event(ledger.paid.event, ledger.delta), 4)
        lines = [f"This fit costs epsilon {cost} at the ledger's delta {ledger.delta:g}."]
    for row in report.releases:
        out, path = (quote(str(one)) for one in (options.out, options.ledger))
        check = f"skdppca verify {out} --ledger {path} --head {row.head}"
        keep = "Keep this line elsewhere; it shows later that the ledger was not rewritten:"
        lines.append(f"{keep}\n  {check}")
    return lines


def _units(pca: BasePrivatePCA, names: list[str]) -> list[str]:
    """Advice on units if one feature dominates; it reads the released components only."""
    first = pca.components_[0] ** 2
    if pca.scale is not None or len(first) < 3 or first.max() < NEARLY_ALL:
        return []
    return [
        f"Component 1 is almost only {names[int(first.argmax())]!r}. If the columns have different",
        "units, fit again with --scale private. That fit is charged separately.",
    ]
