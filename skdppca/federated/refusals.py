"""What a site may say when it does not answer: one of these codes, and nothing else."""

from __future__ import annotations

from enum import StrEnum


class Refusal(StrEnum):
    """Why a site refused. Every code follows from the message and from public facts of the site."""

    MALFORMED = "malformed"
    PROTOCOL = "other-version"
    ANALYST = "unknown-analyst"
    STUDY = "other-study"
    ROSTER = "other-sites"
    FEW_SITES = "too-few-sites"
    COLLUDERS = "too-few-colluders"
    LIMITS = "beyond-limits"
    STATISTIC = "statistic-not-allowed"
    COLUMNS = "other-columns"
    UNIT = "other-unit"
    ROWS = "other-table"
    PERSON = "other-max-sites-per-person"
    BUDGET = "ledger-exhausted"
    RUN = "unknown-run"
    RUN_USED = "run-id-used"
    RUN_OVER = "run-over"
    PLAN = "other-plan"
    ROUND = "other-round"
    CHANGED = "asked-differently"
    KEYS = "wrong-key"
    INPUTS = "other-inputs"
    QUESTION = "invalid-question"
    NOISE = "noise-out-of-range"
    MODULUS = "modulus-too-small"
    MEMORY = "too-little-memory"
    BEYOND_PLAN = "beyond-plan"
    TABLE = "table-unusable"
    SUM = "other-sum"
    LEDGER = "ledger-unusable"
    BUSY = "busy"
    INTERNAL = "internal"

    @property
    def meaning(self) -> str:
        """What is wrong, and what to do about it: one sentence for the analyst."""
        return MEANINGS[self]


MEANINGS = {
    Refusal.MALFORMED: "the message is not what skdppca sends; install the same version",
    Refusal.PROTOCOL: "the site has another version of the protocol; install the same skdppca",
    Refusal.ANALYST: "the site does not know the key that signed this; it must list your public "
    "key under analysts in its site.json",
    Refusal.STUDY: "the site takes part in another study; check study.name",
    Refusal.ROSTER: "the site does not know these sites or their keys, or is not one of them; give "
    "every site the same sites in its site.json",
    Refusal.FEW_SITES: "the site takes part with at least min_sites of its site.json; ask more",
    Refusal.COLLUDERS: "the site assumes more colluders (max_colluders of its site.json, or of the "
    "study there); pass a larger max_colluders",
    Refusal.LIMITS: "epsilon or delta exceeds max_epsilon or max_delta of its site.json; lower it",
    Refusal.STATISTIC: "the site does not allow every statistic of this plan",
    Refusal.COLUMNS: "the site's table has other columns; agree on their names and their order",
    Refusal.UNIT: "the site protects another unit; agree on what a record is",
    Refusal.ROWS: "the study and the site disagree on max_rows, sparse or missing; agree on them",
    Refusal.PERSON: "the site declares another max_sites_per_person; agree on it",
    Refusal.BUDGET: "the site's ledger cannot afford this; lower epsilon, or end the study",
    Refusal.RUN: "the site knows no such run; begin a new one",
    Refusal.RUN_USED: "the run's id was used before; begin a new run",
    Refusal.RUN_OVER: "the run is over at the site, or its ledger was replaced; begin a new run",
    Refusal.PLAN: "this belongs to another plan than the site agreed to; begin a new run",
    Refusal.ROUND: "this is not the next question of the run; begin a new run",
    Refusal.CHANGED: "this round was asked differently before; begin a new run",
    Refusal.KEYS: "a key is not signed by its site, or not the current one; begin a new run",
    Refusal.INPUTS: "the arrays are not those that were signed; look who changes messages",
    Refusal.QUESTION: "the question's numbers are out of range or do not fit together; choose "
    "units in which the norms of rows lie between 1e-35 and 1e35",
    Refusal.NOISE: "the noise is too small for the price to be proven, or too large for its grid",
    Refusal.MODULUS: "the sum could exceed 64 bits; lower max_rows, or ask for less precision",
    Refusal.MEMORY: "the site could not hold what this takes for max_rows rows; lower max_rows, or "
    "ask about fewer directions",
    Refusal.BEYOND_PLAN: "this would cost more than the plan allows; begin a new run",
    Refusal.TABLE: "the site cannot read its table, or the table has changed during the run",
    Refusal.SUM: "the site's sum is not the one that it charged for (it runs with another number "
    "of threads, or on another machine); begin a new run",
    Refusal.LEDGER: "the site's ledger cannot be read or written; ask the site",
    Refusal.BUSY: "the site is still answering; ask again",
    Refusal.INTERNAL: "something failed at the site; its errors.log says what, and stays there",
}


class Refused(Exception):
    """A site's refusal.

    Parameters
    ----------
    code : Refusal
    signature : str, default=""
        The site's, of `refusal_text`. A refusal without it is nobody's.
    """

    def __init__(self, code: Refusal, signature: str = "") -> None:
        super().__init__(code.value)
        self.code, self.signature = code, signature


def is_busy(reply: object) -> bool:
    """Whether a site answers that it is still answering."""
    return isinstance(reply, Refused) and reply.code is Refusal.BUSY
