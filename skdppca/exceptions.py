"""Errors and warnings, each with its remedy in the message."""

__all__ = [
    "BudgetExceeded",
    "CentreNotSeenWarning",
    "LabelColumnWarning",
    "LedgerCutWarning",
    "LedgerError",
    "MovingFoldsWarning",
    "NoiseOnlyWarning",
    "NotReleasedError",
    "OutsideMapWarning",
    "SealedAccountantError",
    "SeededNoiseWarning",
    "TableChangedError",
    "UnaccountedFitsWarning",
    "UnaccountedScoreWarning",
    "UnaccountedStepWarning",
    "UnknownEventError",
    "WeakPrivacyWarning",
]


class BudgetExceeded(RuntimeError):
    """A charge was refused because the budget does not cover it; nothing was released."""


class LedgerError(RuntimeError):
    """A ledger file is missing, damaged, foreign, or cannot be written; nothing was released."""


class SealedAccountantError(RuntimeError):
    """An in-memory accountant was asked to charge outside the process that made it."""


class TableChangedError(RuntimeError):
    """A file changed, or could not be read again, during a fit; it is charged, nothing released."""


class UnknownEventError(ValueError):
    """A privacy event is of no known kind, so its cost is unknown and the release is refused."""


class NotReleasedError(AttributeError):
    """The method does not release this attribute; the message says why, and how to get it."""


class LedgerCutWarning(UserWarning):
    """A ledger ends within a row: a crash cut its write off, or it is a copy that was cut short."""


class SeededNoiseWarning(UserWarning):
    """The noise came from a seed: the release can be repeated by others and is not private."""


class UnaccountedFitsWarning(UserWarning):
    """A process made several private releases without an accountant: nothing adds up their cost."""


class UnaccountedScoreWarning(UserWarning):
    """`score` read rows without noise: a choice made by it is private only if they are public."""


class UnaccountedStepWarning(UserWarning):
    """A step of a Pipeline learned from the records before a private one: its guarantee is void."""


class WeakPrivacyWarning(UserWarning):
    """The budget is valid, and so large that it hardly protects anyone."""


class CentreNotSeenWarning(UserWarning):
    """The noise hid where the records are, or how long; the report says what was done instead."""


class OutsideMapWarning(UserWarning):
    """A projection map does not show many of the records, which lie beyond its axes."""


class NoiseOnlyWarning(UserWarning):
    """All components of a fit are lost in the noise: what was released shows nothing."""


class LabelColumnWarning(UserWarning):
    """A column that is by its name a label of rows or people is among the features."""


class MovingFoldsWarning(UserWarning):
    """One record may move others between folds, so the stated cost of a search is no bound."""
