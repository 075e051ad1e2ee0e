"""``skdppca fit``. It charges only after every other check has passed."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from inspect import signature
from pathlib import Path
from shlex import join, quote
from typing import Any

from .._text import printable
from .._text.digits import up
from ..decomposition import METHODS as REGISTRY
from ..decomposition import BasePrivatePCA, PrivatePCA
from ..decomposition.dp_gauss.estimator import LARGEST_KEPT
from ..decomposition.memory import check_memory
from ..decomposition.private_pca import choose
from ..privacy import PrivacyReport, Released, epsilon_of_event
from ..privacy.cohorts import cohort_names
from ..privacy.config import VARIABLE, get_config
from ..privacy.fit_report import no_scales
from ..private_data import Public
from ..report import ReleaseReport
from ..report._contents import FILES, archived
from ..report._directory import Directory, claimed, replacing
from ..report._results import advice, not_stated, results
from ._charged_ledger import Charged, check_counts, check_there, command, told
from ._check_table import check_table
from ._context_file import context_of
from ._csv_files import CsvFormat
from ._json import Fitted
from ._out_directory import replaced, spare, write
from ._parameter_options import parameters
from ._progress import progress
from ._read_rows import ArrayRows, TableRows, answers_no_rows, check_regular, files_of, opened
from ._rehearsal import rehearse
from ._terminal import print_to
from ._unusable import NotNumeric
from ._update import Earlier, check_options, one_cohort

METHODS: dict[str, type[BasePrivatePCA]] = {
    "auto": PrivatePCA,
    **{method.command: method.estimator for method in REGISTRY.values()},
}

# A number takes 8 bytes in the archive, and about 25 as text.
BYTES_A_NUMBER = 33

# One feature with this share of a component's squared norm dominates the component.
NEARLY_ALL = 0.99

# The same with private scales, where one that is far too small gives less: round.
NEARLY_ALL_SCALED = 0.9


def fit(options: argparse.Namespace) -> int:
    """Read a table, charge the ledger, fit, and write what was released; or only check the table.

    Return the exit status.
    """
    if options.check:
        if options.json:
            raise ValueError("--check has no JSON output; leave out --json")
        return check_table(options)
    unit = _unit(options.groups, options.unit)
    if options.update is not None:
        check_options(options)
    elif options.everybody_pays:
        raise ValueError("--everybody-pays goes with --update DIR; leave it out")
    if math.isinf(options.epsilon) and options.ledger is not None:
        raise ValueError(
            "--epsilon inf has no cost that a ledger could charge; choose a finite epsilon, or "
            "leave --ledger out for components that are not private"
        )
    _check_accounted(options)
    files = files_of(options.data)
    if options.ledger is not None:
        check_regular(options.ledger)
        check_there(options.ledger)
    spare(options.out, *files, options.ledger)
    for folder in options.data:
        if folder.is_dir() and options.out.resolve().is_relative_to(folder.resolve()):
            raise ValueError(
                f"--out {options.out} lies in {folder}, whose files are the data; choose another "
                "directory"
            )
    earlier = replaced(options.out) if options.force else []
    with _place(options) as directory, progress(4) as step:
        ledger = None if options.ledger is None else Charged(options.ledger)
        said = told(lambda: _release(options, unit, ledger, directory, step), ledger, directory)
    print("\n".join([said, *([] if options.json else earlier)]))
    return 0


def _place(options: argparse.Namespace) -> AbstractContextManager[Directory]:
    """Where the files are written: in place, or beside the release that they replace."""
    if options.update is not None:
        return replacing(options.out, FILES)
    return claimed(options.out, FILES, options.force)


def _release(
    options: argparse.Namespace,
    unit: str,
    ledger: Charged | None,
    directory: Directory,
    step: Callable[..., None],
) -> str:
    """Read, try all that could fail later, charge and fit, write, and say what was done."""
    cohorts = cohort_names(options.cohorts, "--cohorts")
    earlier = None if options.update is None else Earlier.there(options.out)
    if earlier is not None:
        earlier.take_over(options, unit)
        earlier.check_ledger(ledger)
        earlier.check_named(options)
    if ledger is not None:
        check_counts(ledger, options.adjacency, unit)
        total = ledger.statement().chain.total
        total.check_new(cohorts)
        total.people(cohorts)  # refuses a name that reads like another
    method = METHODS[options.method]
    pca = method() if earlier is None else earlier.fitted
    told = parameters(options, signature(type(pca)))
    told |= {"unit": unit, "accountant": ledger}
    pca.set_params(**told)
    step("reading")
    rows = _opened(options)
    step("trying with made-up data")
    _check_method(options, rows)
    names, context = rows.names, context_of(options.context)
    if earlier is not None:
        earlier.check_columns(names)
        context = earlier.context(context)
    words = {
        "title": options.title,
        "context": context,
        "pictures": options.pictures,
    }
    matrix = _matrix_columns(names, grows=earlier is not None)
    _check_size(names, options.n_components, matrix)
    labels = [] if ledger is None else [receipt.label for receipt in ledger.receipts]
    sizes = rehearse(
        names,
        unit,
        options.adjacency,
        labels=labels,
        charged=() if ledger is None else ledger.cohorts,
        cohorts=cohorts,
        **words,
    )
    directory.reserve([*sizes, _size(names, options.n_components, matrix)])
    print_to("stderr", "" if earlier is None else earlier.kept(options))
    step("checking, charging and fitting")
    public = Public(len(names), options.adjacency, unit, rows.is_sparse)
    whole = bool(pca._beyond(public))

    def tell(number: int) -> None:
        step(_pass(number), stay=True)

    if options.update is None:
        rows.fit(pca, cohorts or None, tell, whole)
    else:
        rows.join(pca, one_cohort(options), tell, whole)
    step("writing")
    report = ReleaseReport(pca, feature_names=names, **words)
    written = write(report, directory)
    document, name = report.dict(), printable(str(options.ledger))
    if options.json:
        return str(Fitted(str(options.out), written, report.no_pictures, document))
    lines = results(document, name, options.details)
    lines += [] if earlier or no_scales(pca.privacy_) else _units(pca, names)
    lines += [where_written(options.out, written, report.no_pictures), *advice(document)]
    lines += [] if earlier is None else earlier.said()
    lines += not_stated(options.out, options.title, options.context)
    lines += _uncounted(pca.privacy_) if ledger is None else _cost(ledger, options)
    return "\n".join([*lines, *_head(pca.privacy_, options)])


def _opened(options: argparse.Namespace) -> ArrayRows | TableRows:
    """Open the rows; an error about what is no number says how to list all that is wrong."""
    try:
        return opened(
            options.data,
            options.groups,
            CsvFormat(**parameters(options, signature(CsvFormat))),
            options.missing == "mean",
            options.columns,
            options.drop,
            alone=options.unit is not None,
            may_be_empty=answers_no_rows(options),
        )
    except NotNumeric as error:
        refused = str(error)
    groups = [] if options.groups is None else ["--groups", options.groups]
    check = join(["skdppca", "fit", *map(str, options.data), *groups, "--check"])
    raise NotNumeric(f"{refused}; to list all that is wrong: {check}")


def _check_accounted(options: argparse.Namespace) -> None:
    """Refuse a private fit without a ledger, if the environment says so."""
    private = math.isfinite(options.epsilon)
    if options.ledger is None and private and get_config()["require_accountant"]:
        raise ValueError(
            f"no --ledger was given, and {VARIABLE} is set in the environment: every private fit "
            "must be charged to a ledger; pass --ledger FILE"
        )


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


def _check_method(options: argparse.Namespace, rows: ArrayRows | TableRows) -> None:
    """Refuse a method that cannot choose the components, or that this machine cannot hold."""
    n_features = rows.n_features
    _check_pure(options)
    if isinstance(options.n_components, int) and options.n_components > n_features:
        raise ValueError(
            f"-k {options.n_components} is more than the {n_features} features; choose at most "
            f"{n_features}"
        )
    count = options.n_components if isinstance(options.n_components, int) else None
    named = {method.command: name for name, method in REGISTRY.items()}
    name = (
        named.get(options.method)
        or choose(
            n_features,
            is_sparse=rows.is_sparse,
            grouped=options.groups is not None,
            sees_spectrum=count is None,
            may_miss=options.missing == "mean",
            pure=options.delta == 0,
        )[0]
    )
    if count is None and not REGISTRY[name].spectral:
        raise ValueError(
            f"{name} sees no spectrum to choose a number of components by; give one with "
            "--components K"
        )
    # here already: all names of very many columns would not fit either
    held, scaled = REGISTRY[name].estimator._held, options.scale == "private"
    grouped = options.groups is not None
    check_memory(held, n_features, count or n_features, scaled=scaled, grouped=grouped)


def _check_pure(options: argparse.Namespace) -> None:
    """Refuse a pure guarantee for what needs Gaussian noise."""
    if options.delta:
        return
    if options.method != "auto":
        raise ValueError(
            "--delta 0 is a pure guarantee, which only --method auto gives; leave --method out, or "
            "pass a small --delta such as 1e-6"
        )
    if options.norm_bound is None or options.center:
        raise ValueError(
            "--delta 0 leaves no Gaussian noise to find a norm bound and a mean with; pass "
            "--norm-bound R and --no-center, or a small --delta such as 1e-6"
        )


def _matrix_columns(names: list[str], *, grows: bool) -> int:
    """How many columns the matrix in a release has; 0 if it is not kept."""
    return len(names) if grows or len(names) <= LARGEST_KEPT else 0


def _check_size(names: list[str], count: Any, matrix: int) -> None:
    """Refuse a release of more numbers than `verify` reads; `matrix`: columns of its matrix."""
    shape = (count if isinstance(count, int) else len(names), len(names))
    arrays = {"components": shape, "matrix": (matrix, matrix)}
    wrong = ""
    try:
        archived([Released(name, of, "float64", "") for name, of in arrays.items()], names)
    except ValueError as error:
        wrong = str(error)
    if wrong:
        raise ValueError(f"-k: {wrong}. Nothing was charged")


def _size(names: list[str], count: Any, matrix: int) -> int:
    """About how many bytes the numbers and names of a release take in all files."""
    count = count if isinstance(count, int) else len(names)  # as many as may be found
    return 8 * matrix**2 + len(names) * BYTES_A_NUMBER * (count + 3) + 3 * sum(map(len, names))


def _cost(ledger: Charged, options: argparse.Namespace) -> list[str]:
    """What a fit has cost, if its delta is another than the ledger's."""
    if ledger.paid is None or options.delta == ledger.delta:
        return []
    cost = up(epsilon_of_event(ledger.paid.event, ledger.delta), 4)
    return [f"This fit costs epsilon {cost} at the ledger's delta {ledger.delta:g}."]


def _uncounted(report: PrivacyReport) -> list[str]:
    """How to charge a fit that no ledger knows of."""
    if not report.private:
        return []
    return [f"To count it, charge it to the ledger of the same people:\n  {command(report)}"]


def _head(report: PrivacyReport, options: argparse.Namespace) -> list[str]:
    """What to keep elsewhere, so that the ledger's owner cannot write another one."""
    if report.release is None:
        return []
    out, ledger = (quote(str(path)) for path in (options.out, options.ledger))
    check = f"skdppca verify {out} --ledger {ledger} --head {report.release.head}"
    return [
        f"Keep this line elsewhere; it shows later that the ledger was not rewritten:\n  {check}"
    ]


def _units(pca: BasePrivatePCA, names: list[str]) -> list[str]:
    """Advice on units if one feature dominates; it reads the released components only."""
    first = pca.components_[0] ** 2
    least = NEARLY_ALL if pca.scale is None else NEARLY_ALL_SCALED
    if len(first) < 3 or first.max() < least:
        return []
    name = names[int(first.argmax())]
    if pca.scale is not None:
        return [
            f"Component 1 is mostly {name!r}. With few records a private scale can be far too "
            "small, and its feature then becomes a component.",
            "Compare the column 'scale' of components.csv with what you know of the features.",
        ]
    return [
        f"Component 1 is almost only {name!r}. If the columns have different units,",
        "fit again with --scale private. That fit is charged separately.",
    ]


def _pass(number: int) -> str:
    """How many passes a fit takes follows from what it has released."""
    return f"pass {number} over the files" if number else "checking the files"


def where_written(out: Path, written: list[str], why: str) -> str:
    """Say which files a release has, and why it has no pictures."""
    text = f"Written to {out}/: {', '.join(written)}"
    return text + (f"\nNo pictures: {why}" if why else "")
