"""What a site agrees to: its site.json."""

from __future__ import annotations

import os
from typing import Self

from msgspec import Struct

from .identity import is_public_key
from .messages import RunPlan
from .questions import QUESTIONS
from .refusals import Refusal
from .study import MAX_SITES, Study, check, is_name, read_json, written


class Policy(Struct, frozen=True, forbid_unknown_fields=True):
    """What a site agrees to.

    Parameters
    ----------
    name : str
        Of this site, as the study calls it.
    study : Study
        Its sites are those that this one takes part with; a plan may ask some of them.
    analysts : tuple of str
        Public keys of those who may ask.
    table : str
        The path of the table, relative to the site's folder.
    max_epsilon, max_delta : float
        What one run may cost at most. The ledger limits all runs together.
    ledger : str, default="study.ledger"
        The path of the privacy ledger.
    groups : str or None, default=None
        If a record is a group of rows: the column, or the file, that says which.
    statistics : tuple of str or None, default=None
        The kinds of questions that are answered; None for all that sites can be asked.
    min_sites : int, default=3
        The fewest sites to take part with, this one among them.
    max_colluders : int or None, default=None
        The most other sites that may work together against this one, and with the server. None
        stands for the study's number. A site may give a larger one.
    """

    name: str
    study: Study
    analysts: tuple[str, ...]
    table: str
    max_epsilon: float
    max_delta: float
    ledger: str = "study.ledger"
    groups: str | None = None
    statistics: tuple[str, ...] | None = None
    min_sites: int = 3
    max_colluders: int | None = None

    def __post_init__(self) -> None:
        valid = is_name(self.name) and self.name in self.study.sites
        known = ", ".join(self.study.sites)
        check("name", self.name, valid, f"it must be one of the study's sites: {known}")
        valid = isinstance(self.analysts, tuple) and all(map(is_public_key, self.analysts))
        check("analysts", self.analysts, valid, "list public keys of 64 hex digits")
        for name in ("table", "ledger"):
            path = getattr(self, name)
            check(name, path, isinstance(path, str) and path != "", "give a path")
        valid = self.groups is None or isinstance(self.groups, str)
        valid = valid and (self.groups is None) == (self.study.unit == "row")
        check("groups", self.groups, valid, "give it exactly if the study's unit is not 'row'")
        for name, most in (("max_epsilon", 1e6), ("max_delta", 1.0)):
            value = getattr(self, name)
            valid = type(value) in (int, float) and 0 < value < most
            check(name, value, valid, f"give a number above 0 and below {most:g}")
        names = QUESTIONS if self.statistics is None else self.statistics
        valid = all(name in QUESTIONS for name in names)
        check("statistics", self.statistics, valid, f"choose of {', '.join(sorted(QUESTIONS))}")
        least = self.study.max_colluders
        for name, low, high in (
            ("min_sites", 2, MAX_SITES),
            ("max_colluders", least, MAX_SITES),
        ):
            value = getattr(self, name)
            valid = type(value) is int and low <= value <= high
            valid = valid or (name == "max_colluders" and value is None)
            check(name, value, valid, f"give a number from {low} to {high}")

    @property
    def colluders(self) -> int:
        """How many of the other sites may work together against this one."""
        return self.study.max_colluders if self.max_colluders is None else self.max_colluders

    def objection(self, plan: RunPlan) -> Refusal | None:
        """Why this site does not agree to a plan; looks at public facts alone."""
        mine, theirs = self.study, plan.study
        m = len(theirs.sites)
        allowed = set(QUESTIONS if self.statistics is None else self.statistics)
        objections = (
            (theirs.name != mine.name, Refusal.STUDY),
            (not theirs.sites.items() <= mine.sites.items(), Refusal.ROSTER),
            (self.name not in theirs.sites, Refusal.ROSTER),
            (m < self.min_sites, Refusal.FEW_SITES),
            (plan.honest > m - self.colluders, Refusal.COLLUDERS),
            (theirs.max_colluders < mine.max_colluders, Refusal.COLLUDERS),
            (plan.epsilon > self.max_epsilon or plan.delta > self.max_delta, Refusal.LIMITS),
            (theirs.unit != mine.unit, Refusal.UNIT),
            (theirs.columns != mine.columns, Refusal.COLUMNS),
            (theirs.sparse is not mine.sparse, Refusal.ROWS),
            (theirs.missing != mine.missing, Refusal.ROWS),
            (theirs.max_rows < mine.max_rows, Refusal.ROWS),
            (theirs.max_sites_per_person != min(mine.max_sites_per_person, m), Refusal.PERSON),
            (not set(plan.statistics) <= allowed, Refusal.STATISTIC),
        )
        return next((refusal for objects, refusal in objections if objects), None)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Read a policy from a JSON file."""
        return read_json(path, cls)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the policy to a JSON file, where nothing lies yet."""
        written(path, self)
