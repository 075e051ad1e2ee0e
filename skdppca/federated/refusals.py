"""Refusals: a site that does not answer says one of these codes, and nothing else."""

from __future__ import annotations

from enum import StrEnum
from typing import Any


class Refusal(StrEnum):
    """Why a site refused. Every code follows from the message and from public facts of the site.

    Attributes
    ----------
    meaning : str
        What is wrong, and what to do about it: one sentence for the analyst.
    """

    meaning: str

    def __new__(cls, code: str, meaning: str) -> Refusal:
        """Make a code with its meaning."""
        refusal = str.__new__(cls, code)
        refusal._value_, refusal.meaning = code, meaning
        return refusal

    MALFORMED = "malformed", "skdppca sends nothing like this; install the same version everywhere"
    ANALYST = "unknown-analyst", "your public key must stand under analysts in its site.json"
    STUDY = "other-study", "its site.json has another study; agree on one"
    ROSTER = "other-sites", "its site.json has other sites or keys; give all sites the same study"
    FEW_SITES = "too-few-sites", "it takes part with at least min_sites of its site.json; ask more"
    LIMITS = "beyond-limits", "max_epsilon or max_delta of its site.json is lower; ask for less"
    STATISTIC = "statistic-not-allowed", "the plan or its site.json allows no such statistic"
    BUDGET = "ledger-exhausted", "its ledger cannot afford this; lower epsilon, or end the study"
    RUN = "unknown-run", "it knows no such run of this plan and analyst; begin a new run"
    RUN_OVER = "run-over", "the run is over there, or the ledger was replaced; begin a new run"
    ROUND = "other-round", "this is not the next question of the run; begin a new run"
    KEYS = "wrong-key", "a key is not signed by its site, or not current; begin a new run"
    INPUTS = "other-inputs", "the arrays are not those that were signed; see who changes messages"
    QUESTION = (
        "invalid-question",
        "its numbers are out of range or do not fit together; choose units in which the norms of "
        "rows lie between 1e-35 and 1e35",
    )
    NOISE = "noise-out-of-range", "the noise or the sum does not fit its grid; lower max_rows"
    MEMORY = "too-little-memory", "it could not hold this for max_rows rows; lower max_rows"
    BEYOND_PLAN = "beyond-plan", "this would cost more than the plan allows; begin a new run"
    TABLE = "table-unusable", "it cannot read its table, or the table changed during the run"
    SUM = (
        "other-sum",
        "its sum is not the one that it charged for (it runs with another number of threads, or on "
        "another machine); begin a new run",
    )
    LEDGER = "ledger-unusable", "its ledger cannot be read or written; ask the site"
    INTERNAL = "internal", "something failed there; its errors.log says what, and stays there"


class Refused(Exception):
    """A site's refusal.

    Parameters
    ----------
    code : Refusal
    """

    def __init__(self, code: Refusal) -> None:
        super().__init__(code.value)
        self.code = code


def need(valid: Any, code: Refusal) -> None:
    """Refuse what is not valid.

    Raises
    ------
    Refused
    """
    if not valid:
        raise Refused(code)
