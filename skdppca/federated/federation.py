"""The analyst's side of a run: one question to all sites at once, and the sum of their answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from ..noise import SharedQuery
from ..out_of_core.pieces import Question
from .identity import Identity
from .masks import opened
from .messages import Close, Message, Refusal, Request, RunPlan, array_digest
from .questions import written_question
from .runs import Answered
from .transport import LocalSites, Reply

if TYPE_CHECKING:
    from .flower import FlowerTransport

# Times that a message is sent to a site that does not answer.
ATTEMPTS = 2


class SitesError(RuntimeError):
    """A run over sites failed: nothing was released by this call, and what was charged stays so.

    Attributes
    ----------
    refused : dict of str to Refusal
        The sites that refused, or that signed something else than an answer, and why.
    silent : tuple of str
        The sites that did not answer.
    run : str
        The run's id.
    """

    def __init__(
        self,
        run: str,
        when: str,
        refused: Mapping[str, Refusal] = {},
        silent: Sequence[str] = (),
    ) -> None:
        self.run, self.refused, self.silent = run, dict(refused), tuple(silent)
        reasons = []
        for code in sorted(set(refused.values())):
            who = ", ".join(sorted(site for site in refused if refused[site] is code))
            reasons.append(f"{who} refused ({code.value}): {code.meaning}")
        if silent:
            reasons.append(
                f"{', '.join(silent)} did not answer: see whether skdppca site run says there that "
                "it is connected, and whether the study has the site's key"
            )
        super().__init__(f"run {run}: {': '.join([when, *filter(None, ['. '.join(reasons)])])}.")


class Federation:
    """One run over the sites of a study.

    Parameters
    ----------
    plan : RunPlan
    transport : FlowerTransport or LocalSites
    analyst : Identity

    Notes
    -----
    Every answer is checked: its site's signature, and that it is one to exactly this question. A
    failure ends the run. Nobody can open a sum that a site is missing in.
    """

    def __init__(
        self, plan: RunPlan, transport: FlowerTransport | LocalSites, analyst: Identity
    ) -> None:
        self.plan = plan
        self._transport, self._analyst = transport, analyst
        self._keys: dict[str, tuple[str, str]] = {}
        self._begun = False
        self.answered: list[Answered] = []  # or asked: what sites may have charged

    @property
    def sites(self) -> tuple[str, ...]:
        """All of them have to answer."""
        return tuple(sorted(self.plan.study.sites))

    def ask(self, asked: Question, query: SharedQuery) -> np.ndarray:
        """Ask for the sum over all sites, with their noise; at first, to agree to the plan.

        Raises
        ------
        SitesError
            The run has failed.
        """
        if not self._begun:
            self._begun = True
            when = "the sites did not all agree to the plan, and nothing was charged"
            for site, reply in self._gathered(self.plan, {}, when).items():
                said = reply.fields
                self._keys[site] = said.get("key", ""), said.get("key_signature", "")
        question, arrays = written_question(asked.views, asked.statistic)
        request = Request(
            run=self.plan.run,
            plan=self.plan.digest,
            round=len(self.answered) + 1,
            question=question,
            inputs={name: array_digest(array) for name, array in arrays.items()},
            grid_log2=query.grid_log2,
            noise_sd=query.site_sd,
            keys=self._keys,
        )
        when = (
            f"question {request.round} ({query.name}) was not answered by all sites, so its sum "
            "cannot be opened and the run has failed. What sites have charged stays charged"
        )
        self.answered.append(Answered(request.digest, query.mu))
        replies = self._gathered(request, arrays, when)
        vectors: dict[str, Any] = {site: reply.vector for site, reply in replies.items()}
        other = [site for site, vector in vectors.items() if np.shape(vector) != (query.drawn,)]
        if other:
            raise SitesError(self.plan.run, when, dict.fromkeys(other, Refusal.MALFORMED))
        total = opened(vectors.values())
        if not query.is_plausible(total, self.plan.study.max_rows):
            raise SitesError(
                self.plan.run,
                f"the sum of question {request.round} ({query.name}) is larger than max_rows "
                "records at every site and their noise can make it, so the run has failed. At "
                "least one site added something else, or was asked something else; the masks hide "
                "which. What sites have charged stays charged",
            )
        return query.value(total).reshape(asked.statistic.shape)

    def abandon(self) -> None:
        """Tell the sites that the run has failed, if they know of it; nothing is raised."""
        if self._begun:
            with suppress(Exception):
                self.end(None)

    def end(self, release: str | None) -> tuple[str, ...]:
        """Tell the sites that the run is over, so that they forget its key.

        Parameters
        ----------
        release : str or None
            The id of what was released; None if the run failed.

        Returns
        -------
        tuple of str
            The sites that did not confirm it: their ledgers lack the release, and they keep the
            run's key until they are told.
        """
        close = Close(run=self.plan.run, plan=self.plan.digest, release=release)
        replies = self._exchanged(close, {})
        return tuple(s for s in self.sites if s not in replies or replies[s].refused)

    def _gathered(
        self, message: Message, arrays: Mapping[str, np.ndarray], when: str
    ) -> dict[str, Reply]:
        """Gather what all sites reply; every reply is checked."""
        replies = self._exchanged(message, arrays)
        refused = {site: code for site, reply in replies.items() if (code := reply.refused)}
        silent = [site for site in self.sites if site not in replies]
        if refused or silent:
            raise SitesError(self.plan.run, when, refused, silent)
        return replies

    def _exchanged(self, message: Message, arrays: Mapping[str, np.ndarray]) -> dict[str, Reply]:
        """Send a message to all sites, and again to those that do not reply, which is free."""
        request, signature = message.digest, self._analyst.sign(message.body)
        replies = dict[str, Reply]()

        def accepts(site: str, reply: Reply) -> bool:
            return site in self.sites and reply.is_from(site, self.plan.study.sites[site], request)

        for _ in range(ATTEMPTS):
            missing = [site for site in self.sites if site not in replies]
            if missing:
                found = self._transport.exchange(message, signature, arrays, missing, accepts)
                replies |= {site: reply for site, reply in found.items() if accepts(site, reply)}
        return replies
