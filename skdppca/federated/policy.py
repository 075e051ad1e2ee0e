"""Policy of a site: its site.json, which names all that it agrees to."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from .messages import Refusal, RunPlan, need
from .questions import QUESTIONS
from .study import MAX_SITES, Checked, PublicKey, Study, Text, check


class Policy(Checked, frozen=True):
    """Terms that a site agrees to.

    Parameters
    ----------
    study : Study
        Its sites are this one, by its key, and those that it takes part with; a plan may ask some
        of them.
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
    statistics : frozenset of str, optional
        The kinds of questions that are answered; by default all that sites can be asked.
    min_sites : int, default=3
        The fewest sites to take part with, this one among them.
    """

    study: Study
    analysts: tuple[PublicKey, ...]
    table: Text
    max_epsilon: Annotated[float, Meta(gt=0, lt=1e6)]
    max_delta: Annotated[float, Meta(gt=0, lt=1)]
    ledger: Text = "study.ledger"
    groups: str | None = None
    statistics: frozenset[str] = QUESTIONS
    min_sites: Annotated[int, Meta(ge=2, le=MAX_SITES)] = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        m = len(self.study.sites)
        check("min_sites", self.min_sites, self.min_sites <= m, f"the study has {m} sites")
        valid = (self.groups is None) == (self.study.unit == "row")
        check("groups", self.groups, valid, "give it exactly if the study's unit is not 'row'")
        valid = self.statistics <= QUESTIONS
        check("statistics", self.statistics, valid, f"choose of {', '.join(sorted(QUESTIONS))}")

    def admit(self, plan: RunPlan, name: str) -> None:
        """Refuse a plan that the site of this name does not agree to, by public facts alone.

        Raises
        ------
        Refused
        """
        mine, theirs = self.study, plan.study
        m = len(theirs.sites)
        # what may differ: a plan asks some of the sites, and may assume more colluders
        same = {"sites": theirs.sites, "max_colluders": theirs.max_colluders}
        person = min(mine.max_sites_per_person, m)
        need(theirs.sites.items() <= mine.sites.items(), Refusal.ROSTER)
        need(name in theirs.sites, Refusal.ROSTER)
        need(m >= self.min_sites, Refusal.FEW_SITES)
        need(theirs.max_colluders >= mine.max_colluders, Refusal.STUDY)
        need(replace(mine, **same, max_sites_per_person=person) == theirs, Refusal.STUDY)
        need(plan.epsilon <= self.max_epsilon, Refusal.LIMITS)
        need(plan.delta <= self.max_delta, Refusal.LIMITS)
        need(plan.statistics <= self.statistics, Refusal.STATISTIC)
