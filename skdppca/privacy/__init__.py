"""Privacy costs: events, their price, and the accountants that grant them.

Knows nothing of PCA or scikit-learn.
"""

import sys

from . import fit_report
from .accountant import BaseAccountant, PrivacyAccountant
from .chain import ExternalReceipt, Receipt, ReleaseRow
from .checks import Finding, verify_report
from .config import config_context, get_config, set_config
from .events import (
    ApproximateEvent,
    ComposedEvent,
    GaussianEvent,
    NonPrivateEvent,
    PrivacyEvent,
    PureEvent,
    SelectionEvent,
    event_from_dict,
)
from .fit_report import PrivacyReport, Released, Spending
from .gdp import compose_mu, delta_of, epsilon_of, mu_of
from .ledger import PrivacyLedger
from .pricing import coin, compose, detection_rate, epsilon_of_event, is_affordable
from .privacy_filter import PrivacyFilter
from .statement import Entry, PrivacyCost, Statement

__all__ = [
    "ApproximateEvent",
    "BaseAccountant",
    "ComposedEvent",
    "Entry",
    "ExternalReceipt",
    "Finding",
    "GaussianEvent",
    "NonPrivateEvent",
    "PrivacyAccountant",
    "PrivacyCost",
    "PrivacyEvent",
    "PrivacyFilter",
    "PrivacyLedger",
    "PrivacyReport",
    "PureEvent",
    "Receipt",
    "ReleaseRow",
    "Released",
    "SelectionEvent",
    "Spending",
    "Statement",
    "coin",
    "compose",
    "compose_mu",
    "config_context",
    "delta_of",
    "detection_rate",
    "epsilon_of",
    "epsilon_of_event",
    "event_from_dict",
    "get_config",
    "is_affordable",
    "mu_of",
    "set_config",
    "verify_report",
]

# Where the reports of fits were pickled before the module moved.
sys.modules[f"{__name__}.report"] = fit_report
