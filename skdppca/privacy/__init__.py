"""What was spent: events, their price, and the accountants that grant them.

Knows nothing of PCA or scikit-learn.
"""

from .accountant import BaseAccountant, PrivacyAccountant
from .attacks import coin, detection_rate
from .chain import ExternalReceipt, Receipt, ReleaseRow
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
from .gdp import compose_mu, delta_of, epsilon_of, mu_of
from .ledger import PrivacyLedger
from .pricing import compose, epsilon_of_event, is_affordable
from .privacy_filter import PrivacyFilter
from .report import PrivacyReport, Released, Spending
from .statement import Entry, PrivacyCost, Statement
from .verification import Finding, verify_report

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
    "delta_of",
    "detection_rate",
    "epsilon_of",
    "epsilon_of_event",
    "event_from_dict",
    "is_affordable",
    "mu_of",
    "verify_report",
]
