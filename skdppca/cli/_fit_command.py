"""``skdppca fit`` and ``skdppca demo``. They charge only after every other check has passed."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from shlex import quote
from typing import Any

from ..decomposition import METHODS as REGISTRY
from ..decomposition import BasePrivatePCA, DPGauss, PrivatePCA
from ..decomposition.private_pca import choose
from ..metrics import captured_variance
from ..privacy import PrivacyReport, Released, epsilon_of_event
from ..privacy.charging import needs_no_accountant
from ..privacy.config import VARIABLE, get_config
from ..private_data import Public
from ..report import ReleaseReport
from ..report._contents import FILES
from ..report._digits import down, up
from ..report._directory import Directory, claimed
from ..report._release import check_libraries
from ..report._sizes import archived
from ._charged_ledger import Charged, check_counts, check_there, command, told
from ._context_file import context_of
from ._csv_files import CsvFormat
from ._memory import check_memory
from ._out_directory import replaced, spare, write
from ._parameter_options import parameters
from ._progress import progress
from ._read_rows import ArrayRows, TableRows, check_regular, files_of, opened
from ._rehearsal import rehearse
from ._report_command import advice, lost
from ._terminal import SHOWN, printable

__all__ = ["METHODS", "demo", "fit"]

METHODS: dict[str, type[BasePrivatePCA]] = {
    "auto": PrivatePCA,
    **{method.command: method.estimator for method in REGISTRY.values()},
}

DIGIT_SHAPE = (8, 8)

# A number takes 8 bytes in the archive, and about 25 as text.
BYTES_A_NUMBER = 33

# Sds about 0 that hold 95 % of Laplace noise, and more of Gaussian noise.
WITHIN = 2.12

# One feature with this share of a component's squared norm dominates the component.
NEARLY_ALL = 0.99


def fit(options: argparse.Namespace) -> None:
    """Read a table, charge the ledger, fit, and write what was released."""
    unit = _unit(options.groups, options.unit)
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
    with claimed(options.out, FILES, options.force) as directory, progress(4) as step:
        ledger = None if options.ledger is None else Charged(options.ledger)
        said = told(lambda: _release(options, unit, ledger, directory, step), ledger, directory)
    print("\n".join([said, *earlier]))


def _release(
    options: argparse.Namespace,
    unit: str,
    ledger: Charged | None,
    directory: Directory,
    step: Callable[..., None],
) -> str:
    """Read, try all that could fail later, charge and fit, write, and say what was done."""
    if ledger is not None:
        check_counts(ledger, options.adjacency, unit)
    method = METHODS[options.method]
    pca = method(**parameters(options, signature(method)) | {"unit": unit, "accountant": ledger})
    step("reading")
    rows = opened(
        options.data,
        options.groups,
        CsvFormat(**parameters(options, signature(CsvFormat))),
        options.missing == "mean",
        options.columns,
        options.drop,
        alone=options.unit is not None,
    )
    step("trying with made-up data")
    _check_method(options, rows)
    names = rows.names
    words = {
        "title": options.title,
        "context": context_of(options.context),
        "pictures": options.pictures,
    }
    _check_size(names, options.n_components)
    labels = [] if ledger is None else [receipt.label for receipt in ledger.receipts]
    sizes = rehearse(names, unit, options.adjacency, labels=labels, **words)
    directory.reserve([*sizes, _size(names, options.n_components)])
    step("checking, charging and fitting")
    public = Public(len(names), options.adjacency, unit, rows.is_sparse)
    rows.fit(pca, lambda number: step(_pass(number), stay=True), whole=bool(pca._beyond(public)))
    step("writing")
    report = ReleaseReport(pca, feature_names=names, **words)
    written = write(report, directory)
    lines = [_report(pca.privacy_, options), _summary(pca)]
    lines += [*lost(pca.privacy_), *_units(pca, names)]
    lines += [_where(options.out, written, report.no_pictures), advice(report.dict())]
    if options.title is None and options.context is None:
        lines.append(
            "No --title and no --context: the page says 'Not stated'. To state them, in a copy:\n"
            f"  skdppca declare {quote(str(options.out))} --title TEXT --context FILE --out DIR"
        )
    lines += _uncounted(pca.privacy_) if ledger is None else _left(ledger, options)
    return "\n".join([*lines, *_head(pca.privacy_, options)])


def demo(options: argparse.Namespace) -> None:
    """Fit scikit-learn's digits, print what was released, and write the files."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    pca = DPGauss("auto", epsilon=options.epsilon, delta=options.delta)
    with progress(2) as step:
        step("fitting")
        with needs_no_accountant():  # these data are public
            pca.fit(digits.data)
        step("writing")
        report = ReleaseReport(
            pca,
            title="The digits of scikit-learn",
            feature_names=digits.feature_names,
            image_shape=DIGIT_SHAPE,
            pictures=options.pictures,
        )
        where = _demo_files(report, options)
    print(f"The digits of scikit-learn: images of {DIGIT_SHAPE[0]} x {DIGIT_SHAPE[1]} pixels.\n")
    print(pca.privacy_)
    print(_summary(pca))
    share = captured_variance(pca, digits.data)
    print(
        f"\nThese data are public, so we may look: the private components capture {share:.1%} of "
        f"the\nvariance that as many components without privacy do.\n"
    )
    print(where)


def _demo_files(report: ReleaseReport, options: argparse.Namespace) -> str:
    """Write the files, if what writes a report is there, and say where they are."""
    try:
        check_libraries()
    except ImportError as error:
        return f"No files were written to {options.out}/. {error}"
    with claimed(options.out, FILES, options.force) as directory:
        return _where(options.out, write(report, directory), report.no_pictures)


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
        raise ValueError(f"--unit {name} needs --groups COLUMN, which says whose row it is")
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
    n_features, grouped = rows.n_features, options.groups is not None
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
            grouped=grouped,
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
    check_memory(name, n_features, count or 1, grouped)


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


def _check_size(names: list[str], count: Any) -> None:
    """Refuse a release of more numbers than `verify` reads."""
    shape = (count if isinstance(count, int) else len(names), len(names))
    wrong = ""
    try:
        archived([Released("components", shape, "float64", "")], names)
    except ValueError as error:
        wrong = str(error)
    if wrong:
        raise ValueError(f"-k: {wrong}. Nothing was charged")


def _size(names: list[str], count: Any) -> int:
    """About how many bytes the numbers and names of a release take in all files."""
    count = count if isinstance(count, int) else len(names)  # as many as may be found
    return len(names) * BYTES_A_NUMBER * (count + 3) + 3 * sum(map(len, names))


def _summary(pca: BasePrivatePCA) -> str:
    unit = pca.unit if pca.unit == "row" else f"{pca.unit} (group)"
    several = "s" if pca.n_components_ > 1 else ""
    return (
        f"{pca.n_components_} component{several} of {pca.n_features_in_} features; "
        f"records, each a {unit}: {_count(pca)}"
    )


def _count(pca: BasePrivatePCA) -> str:
    """The number of records, and how far its noise may carry it: that scale is public."""
    scales = [one.noise_sd for one in pca.privacy_.spendings if one.name == "number of records"]
    if not scales:
        return f"{pca.n_samples_:.0f}"
    return f"about {pca.n_samples_:.0f}, give or take {up(WITHIN * max(scales), 2)} (95 %)"


def _report(report: PrivacyReport, options: argparse.Namespace) -> str:
    """The report in words; in a shell, an accountant is a ledger."""
    if report.receipt is None:
        return str(report)
    account = f"accountant {report.receipt.accountant[:SHOWN]}"
    return str(report).replace(account, f"the ledger {printable(str(options.ledger))}")


def _left(ledger: Charged, options: argparse.Namespace) -> list[str]:
    """What a fit has cost, if its delta is another than the ledger's, and what is left."""
    lines, delta = [], f"the ledger's delta {ledger.delta:g}"
    if ledger.paid is not None and options.delta != ledger.delta:
        cost = up(epsilon_of_event(ledger.paid.event, ledger.delta), 4)
        lines.append(f"This fit costs epsilon {cost} at {delta}.")
    try:
        left = down(ledger.statement().remaining.epsilon, 4)
    except ImportError:  # an account of unlike charges needs a library
        return lines
    return [*lines, f"Epsilon {left} of {ledger.epsilon:g} is left, at {delta}."]


def _uncounted(report: PrivacyReport) -> list[str]:
    """How to charge a fit that no ledger knows of."""
    if not report.private:
        return []
    return [
        "No ledger counts this fit. To count it, charge it to the ledger of the same people:\n"
        f"  {command(report)}"
    ]


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
    if pca.scale is not None or len(first) < 3 or first.max() < NEARLY_ALL:
        return []
    name = names[int(first.argmax())]
    return [
        f"Component 1 is almost only {name!r}. If the columns have different units,",
        "fit again with --scale private. That fit is charged separately.",
    ]


def _pass(number: int) -> str:
    """How many passes a fit takes follows from what it has released."""
    return f"pass {number} over the files" if number else "checking the files"


def _where(out: Path, written: list[str], why: str) -> str:
    text = f"Written to {out}/: {', '.join(written)}"
    return text + (f"\nNo pictures: {why}" if why else "")
