"""``skdppca fit`` and ``skdppca demo``. They charge only after every other check has passed."""

from __future__ import annotations

import argparse
import math
import tempfile
from pathlib import Path
from typing import Any

from ..decomposition import METHODS as REGISTRY
from ..decomposition import BasePrivatePCA, DPGauss, PrivatePCA
from ..metrics import captured_variance
from ..privacy import PrivacyLedger
from ._page import templates
from ._progress import progress
from ._read import read
from ._report import advice
from ._write import FILES, SCREE, write

__all__ = ["METHODS", "demo", "fit"]

METHODS: dict[str, type[BasePrivatePCA]] = {
    "auto": PrivatePCA,
    **{method.command: method.estimator for method in REGISTRY.values()},
}

# Methods that release a spectrum, from which a number of components can be chosen.
SPECTRAL = {"auto", *(method.command for method in REGISTRY.values() if method.spectral)}

DIGIT_SHAPE = (8, 8)

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
    if options.method not in SPECTRAL and not isinstance(options.components, int):
        raise ValueError(
            f"--method {options.method} sees no spectrum to choose a number of components by; "
            "give one with --components K"
        )
    _prepare(options.out, options.force)
    _spare(options.out, options.data, options.ledger)
    ledger = None if options.ledger is None else PrivacyLedger(options.ledger)
    pca = METHODS[options.method](
        options.components,
        epsilon=options.epsilon,
        delta=options.delta,
        adjacency=options.adjacency,
        unit=unit,
        norm_bound=options.norm_bound,
        center=options.center,
        scale=options.scale,
        accountant=ledger,
    )
    with progress(3) as step:
        step("reading")
        X, groups = read(options.data, options.groups, options.header)
        step("checking, charging and fitting")
        pca.fit(X, groups=groups)
        step("writing")
        written = _save(pca, options.out)
    print(pca.privacy_)
    print(_summary(pca))
    print(_where(options.out, written))
    print(advice(pca.privacy_))
    units = _units(pca)
    if units:
        print(units)


def demo(options: argparse.Namespace) -> None:
    """Fit scikit-learn's digits, print what was released, and write the files."""
    from sklearn.datasets import load_digits

    _prepare(options.out, options.force)
    with progress(3) as step:
        step("reading")
        digits = load_digits()
        pca = DPGauss("auto", epsilon=options.epsilon, delta=options.delta)
        step("fitting")
        pca.fit(digits.data)
        step("writing")
        written = _save(pca, options.out, digits.feature_names, DIGIT_SHAPE)
    print(f"The digits of scikit-learn: images of {DIGIT_SHAPE[0]} x {DIGIT_SHAPE[1]} pixels.\n")
    print(pca.privacy_)
    print(_summary(pca))
    share = captured_variance(pca, digits.data)
    print(
        f"\nThese data are public, so we may look: the private components capture {share:.1%} of "
        f"the\nvariance that as many components without privacy do.\n"
    )
    print(_where(options.out, written))


def _unit(groups: str | None, name: str | None) -> str:
    if name is not None and groups is None:
        raise ValueError(f"--unit {name} needs --groups COLUMN, which says whose row it is")
    unit = name or groups or "row"
    if groups is not None and unit == "row":
        raise ValueError(
            "a group cannot be called 'row', which means no groups; name it with --unit"
        )
    return unit


def _prepare(out: Path, force: bool) -> None:
    """Make the directory and check that a release can be written to it."""
    templates()
    try:
        if out.exists() and not out.is_dir():
            raise ValueError(f"--out {out} is a file; choose another directory")
        if out.exists() and any(out.iterdir()) and not force:
            raise ValueError(
                f"--out {out} is not empty; choose another directory, or pass --force to replace "
                "earlier results in it"
            )
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise OSError(
            f"--out {out} cannot be written to ({error.strerror}); choose another directory"
        ) from None


def _spare(out: Path, *read: Path | None) -> None:
    """Refuse to replace the data or the ledger by a result."""
    for path in read:
        if path is None or not path.exists():
            continue
        for name in FILES:
            if (out / name).exists() and (out / name).samefile(path):
                raise ValueError(
                    f"{path} would be replaced by the result of that name in --out {out}; choose "
                    "another directory"
                )


def _save(pca: BasePrivatePCA, out: Path, *picture: Any) -> list[str]:
    try:
        return write(pca, out, *picture)
    except OSError as error:
        row = "" if pca.privacy_.receipt is None else f" (row {pca.privacy_.receipt.row})"
        raise OSError(
            f"--out {out}: {error.strerror}; the fit was charged{row}, and not all of it could be "
            "written; free some space before the next"
        ) from None


def _summary(pca: BasePrivatePCA) -> str:
    exact = pca.adjacency == "replace-one" or math.isinf(pca.epsilon)
    unit = pca.unit if pca.unit == "row" else f"{pca.unit} (group)"
    several = "s" if pca.n_components_ > 1 else ""
    return (
        f"{pca.n_components_} component{several} of {pca.n_features_in_} features; "
        f"records, each a {unit}: {'' if exact else 'about '}{pca.n_samples_:.0f}"
    )


def _units(pca: BasePrivatePCA) -> str:
    """Advice on units if one feature dominates; it reads the released components only."""
    first = pca.components_[0] ** 2
    if pca.scale is not None or len(first) < 3 or first.max() < NEARLY_ALL:
        return ""
    names = getattr(pca, "feature_names_in_", [f"x{i}" for i in range(len(first))])
    return (
        f"Component 1 is {str(names[int(first.argmax())])!r} nearly alone: if the features differ "
        "in units,\n--scale private helps, in another fit at a cost of its own."
    )


def _where(out: Path, written: list[str]) -> str:
    text = f"Written to {out}/: {', '.join(written)}"
    if SCREE not in written:
        text += "\nNo picture: it needs matplotlib; pip install 'skdppca[plot]'"
    return text
