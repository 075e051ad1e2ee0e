"""Differentially private PCA that behaves like `sklearn.decomposition.PCA`."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._version import __version__ as __version__

if TYPE_CHECKING:
    from .decomposition import (
        GDPPCA,
        KDPPCA,
        DPGauss,
        DPPowerMethod,
        KDPOjas,
        MergedPCA,
        PrivatePCA,
        ResidualGauss,
        SmoothSensitivityPCA,
    )
    from .privacy import (
        PrivacyAccountant,
        PrivacyLedger,
        config_context,
        get_config,
        set_config,
    )
    from .report import merge

__all__ = [
    "GDPPCA",
    "KDPPCA",
    "DPGauss",
    "DPPowerMethod",
    "KDPOjas",
    "MergedPCA",
    "PrivacyAccountant",
    "PrivacyLedger",
    "PrivatePCA",
    "ResidualGauss",
    "SmoothSensitivityPCA",
    "config_context",
    "get_config",
    "merge",
    "set_config",
]

# Modules that users import. The other parts are for whoever extends or reviews the package.
SUBMODULES = (
    "datasets",
    "exceptions",
    "federated",
    "maps",
    "metrics",
    "model_selection",
    "neighbors",
    "planner",
    "plotting",
    "privacy",
    "report",
    "trials",
)

if not TYPE_CHECKING:  # a type checker sees the names above, and no others

    def __getattr__(name: str) -> Any:
        """Import what is asked for, and not before: ``skdppca --help`` needs none of it."""
        if name in SUBMODULES:
            return import_module(f".{name}", __name__)
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        for room in ("privacy", "decomposition", "report"):
            home = import_module(f".{room}", __name__)
            if name in home.__all__:
                break
        return globals().setdefault(name, getattr(home, name))


def __dir__() -> list[str]:
    return sorted([*__all__, *SUBMODULES, "__version__"])
