"""The analyst's side of a run: one question to all sites at once, and the sum of their answers."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

import numpy as np

from ..noise import SharedQuery
from .identity import Identity, verified
from .masks import opened
from .messages import Close, Message, Request, RunPlan, array_digest, key_text
from .questions import Asked, written_question
from .refusals import Refusal, Refused, is_busy
from .runs import Answered
from .study import Study
from .transport import Action, Expected, Reply, Transport


class SitesError(RuntimeError):
    """A run over sites failed: nothing was released by this call, and what was charged stays so.

    Attributes
    ----------
    refused : dict of str to Refusal
        The sites that refused, and why.
    silent : tuple of str
        The sites that did not answer.
    forged : tuple of str
        Those of them in whose name something came that they have not signed: no fault of theirs.
    false : tuple of str
        The sites that have signed something else than what they were asked for.
    run : str
        The run's id.
    """

    def __init__(
        self,
        run: str,
        when: str,
        refused: Mapping[str, Refusal] = {},
        silent: Sequence[str] = (),
        false: Sequence[str] = (),
        forged: Sequence[str] = (),
    ) -> None:
        self.run, self.refused = run, dict(refused)
        self.silent, self.false, self.forged = tuple(silent), tuple(false), tuple(forged)
        reasons = []
        for code in sorted(set(refused.values())):
            who = ", ".join(sorted(site for site in refused if refused[site] is code))
            reasons.append(f"{who} refused ({code.value}): {code.meaning}")
        if silent:
            reasons.append(
                f"{', '.join(silent)} did not answer: see whether skdppca site run says there that "
                "it is connected"
            )
        if forged:
            reasons.append(
                f"What came in the name of {', '.join(forged)} was not signed there, and says "
                "nothing of that site: see who poses as a site or changes messages, and whether "
                "the study has the site's key"
            )
        if false:
            reasons.append(
                f"{', '.join(false)} signed something else than what was asked: see whether the "
                "same skdppca is installed there"
            )
        super().__init__(f"run {run}: {': '.join([when, *filter(None, ['. '.join(reasons)])])}.")


class Federation:
    """One run over the sites of a study.

    Parameters
    ----------
    plan : RunPlan
    transport : Transport
    analyst : Identity
    attempts : int
        How often a message is sent to those that do not answer.

    Notes
    -----
    Every answer is checked: its site's signature, and that it is one to exactly this question. A
    failure ends the run. Nobody can open a sum that a site is missing in.
    """

    def __init__(
        self, plan: RunPlan, transport: Transport, analyst: Identity, attempts: int = 2
    ) -> None:
        self.plan = plan
        self._transport, self._analyst, self._attempts = transport, analyst, attempts
        self._keys: dict[str, tuple[str, str]] = {}
        self._over = False
        self.answered: list[Answered] = []  # or asked: what sites may have charged
        self.draws = 0

    @property
    def study(self) -> Study:
        """The public facts."""
        return self.plan.study

    @property
    def sites(self) -> tuple[str, ...]:
        """All of them have to answer."""
        return tuple(sorted(self.study.sites))

    def begin(self) -> None:
        """Ask all sites to agree to the plan; nothing is charged. The first question does it.

        Raises
        ------
        SitesError
        """
        when = "the sites did not all agree to the plan, and nothing was charged"
        try:
            replies = self._gathered("hello", self.plan, {}, when)
        except SitesError as error:
            with suppress(Exception):
                self.end(None, set(self.sites) - set(error.refused))
            raise
        false = []
        for site, reply in replies.items():
            key, signature = (reply.fields.get(name, "") for name in ("key", "key_signature"))
            if verified(self.study.sites[site], signature, key_text(self.plan.digest, site, key)):
                self._keys[site] = key, signature
            else:
                false.append(site)
        if false:
            raise SitesError(self.plan.run, when, false=false)

    def ask(self, asked: Asked, query: SharedQuery) -> np.ndarray:
        """The sum over all sites, with their noise.

        Raises
        ------
        SitesError
            The run has failed.
        """
        if self._over:
            raise RuntimeError("this run is over; begin a new one")
        if not self._keys:
            self.begin()
        question, arrays = written_question(asked.steps, asked.statistic)
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
        self.answered.append(Answered(request.digest, query.mu, asked.drawn()))
        replies = self._gathered("answer", request, arrays, when, query.drawn)
        vectors, false = [], []
        for site, reply in replies.items():
            vector = reply.vector
            if vector is None or vector.dtype != np.uint64 or vector.shape != (query.drawn,):
                false.append(site)
            else:
                vectors.append(vector)
        if false:
            raise SitesError(self.plan.run, when, false=false)
        total = opened(vectors)
        if not query.is_plausible(total, self.study.max_rows):
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
        if self._keys and not self._over:
            with suppress(Exception):
                self.end(None)

    def end(self, release: str | None, sites: Iterable[str] | None = None) -> tuple[str, ...]:
        """Tell sites that the run is over, so that they forget its key.

        Parameters
        ----------
        release : str or None
            The id of what was released; None if the run failed.
        sites : iterable of str, optional
            By default all.

        Returns
        -------
        tuple of str
            The sites that did not confirm it: their ledgers lack the release, and they keep the
            run's key until they are told.
        """
        self._over = True
        close = Close(run=self.plan.run, plan=self.plan.digest, release=release)
        told = sorted(self.sites if sites is None else sites)
        replies, _ = self._exchanged("close", close, {}, told)
        return tuple(site for site in told if not isinstance(replies.get(site), Reply))

    def _gathered(
        self,
        action: Action,
        message: Message,
        arrays: Mapping[str, np.ndarray],
        when: str,
        entries: int = 0,
    ) -> dict[str, Reply]:
        """What all sites reply, every reply checked."""
        replies, forged = self._exchanged(action, message, arrays, self.sites, entries)
        refused = {s: r.code for s, r in replies.items() if isinstance(r, Refused)}
        silent = [site for site in self.sites if site not in replies]
        if refused or silent:
            raise SitesError(self.plan.run, when, refused, silent, forged=forged)
        return {site: reply for site, reply in replies.items() if isinstance(reply, Reply)}

    def _exchanged(
        self,
        action: Action,
        message: Message,
        arrays: Mapping[str, np.ndarray],
        sites: Sequence[str],
        entries: int = 0,
    ) -> tuple[dict[str, Reply | Refused], list[str]]:
        """What the sites reply, and the silent ones in whose name something else came.

        A message is sent again to those that do not reply, which is free.
        """
        body = message.body
        signature, replies = self._analyst.sign(body), dict[str, Reply | Refused]()
        forged = set()
        for _ in range(self._attempts):
            missing = [site for site in sites if site not in replies or is_busy(replies[site])]
            if not missing:
                break
            expected = Expected.of(action, body, signature, arrays, self.study.sites, entries)
            found = self._transport.exchange(action, body, signature, arrays, missing, expected)
            for site in set(found) & set(missing):
                if expected.is_from(site, found[site]):
                    replies[site] = found[site]
                else:
                    forged.add(site)
        return replies, sorted(forged - set(replies))


def new_run() -> str:
    """An id that no run had."""
    return os.urandom(16).hex()
