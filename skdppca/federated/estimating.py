"""An estimator over sites: the same mechanisms and the same door, asking another source."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import numpy as np

from ..decomposition import METHODS, BasePrivatePCA, PrivatePCA
from ..decomposition.fit_warnings import warn_of_noise
from ..decomposition.validation import Table
from ..noise import NoiseSource, SharedQuery
from ..out_of_core.pieces import Pieces, Question
from ..privacy import epsilon_of
from ..privacy.charging import needs_no_accountant
from ..privacy.gdp import root_up
from ..privacy.user_warnings import warn_if_weak
from ..private_data import Public
from ..records import Collection
from ..releasing import announce
from ..statistics import Scaled, Statistic
from .federation import Federation
from .identity import Identity
from .messages import RunPlan
from .questions import standin, terms
from .runs import cost
from .study import Study
from .transport import LocalSites

if TYPE_CHECKING:
    from .flower import FlowerTransport

E = TypeVar("E", bound=BasePrivatePCA)

# The share of the price paid that is asked for: sites may compute the last digits otherwise.
SLIGHTLY_LESS = 1 - 1e-9


def fit_sites(
    estimator: E,
    *,
    study: Study,
    transport: FlowerTransport | LocalSites,
    analyst: Identity,
) -> E:
    """Fit an estimator on the records of several sites, which never share one.

    Every site charges its own ledger for every question, with `estimator.epsilon` and
    `estimator.delta` together at most, and adds its share of the noise before its answer leaves.

    Parameters
    ----------
    estimator : estimator
        `PrivatePCA`, or a method that asks for sums only: any but `GDPPCA` and
        `SmoothSensitivityPCA`. It has the study's unit, and is fitted in place.
    study : Study
        What the sites have agreed on. All of its sites must answer.
    transport : FlowerTransport or LocalSites
        Carries messages to the sites.
    analyst : Identity
        Your key, which the sites know.

    Returns
    -------
    estimator
        Fitted. ``privacy_.details`` names the sites, and what was charged at each of them.

    Raises
    ------
    ValueError, TypeError
        The estimator cannot be fitted over these sites; nothing was sent.
    SitesError
        A site refused or did not answer. What was charged by then stays charged.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from skdppca import DPGauss, PrivacyLedger
    >>> from skdppca.federated import Identity, LocalSites, Policy, Site, Study, fit_sites
    >>> folder = tempfile.TemporaryDirectory()
    >>> names = ["east", "north", "south"]
    >>> analyst = Identity.create(f"{folder.name}/analyst.key")
    >>> keys = {name: Site.prepare(f"{folder.name}/{name}").public for name in names}
    >>> study = Study("demo", sites=keys, columns=4)
    >>> X = np.random.default_rng(0).normal(size=(3000, 4)) * [4, 1, 1, 1]
    >>> for i, name in enumerate(names):
    ...     home = f"{folder.name}/{name}"
    ...     np.save(f"{home}/table.npy", X[i::3])
    ...     ledger = PrivacyLedger.create(f"{home}/study.ledger", epsilon=2.0, delta=1e-6)
    ...     policy = Policy(study, (analyst.public,), "table.npy", max_epsilon=1.0, max_delta=1e-6)
    ...     policy.write(f"{home}/site.json")
    >>> sites = LocalSites([Site(f"{folder.name}/{name}") for name in names])
    >>> pca = fit_sites(DPGauss(1), study=study, transport=sites, analyst=analyst)
    >>> bool(abs(pca.components_[0, 0]) > 0.9), pca.privacy_.details["sites"]
    (True, ('east', 'north', 'south'))
    >>> folder.cleanup()
    """
    if not isinstance(estimator, BasePrivatePCA):
        raise TypeError(
            f"{type(estimator).__name__} is not fitted over sites; choose PrivatePCA or DPGauss"
        )
    estimator._validate_params()
    begun: list[Federation] = []

    def opened(seen: BasePrivatePCA, groups: None) -> Table:
        public = Public(study.n_features, seen.adjacency, study.unit, study.sparse)
        chosen = seen._chosen(public) if isinstance(seen, PrivatePCA) else seen
        _check(seen, chosen, study)
        plan = RunPlan(
            run=os.urandom(16).hex(),
            study=study,
            epsilon=float(seen.epsilon),
            delta=float(seen.delta),
            estimator=type(seen).__name__,
            statistics=METHODS[type(chosen).__name__].kinds,
        )
        begun.append(Federation(plan, transport, analyst))
        seen.n_features_in_ = study.n_features
        if isinstance(study.columns, tuple):
            seen.feature_names_in_ = np.array(study.columns, dtype=object)

        def read(scale: np.ndarray | None, n_jobs: int | None) -> SitesRecords:
            """The records, far away; each site has seen that its own are valid."""
            records = SitesRecords(standin=standin(study), federation=begun[-1])
            return records if scale is None else records.through(Scaled(scale))

        return Table(n_features=study.n_features, read=read, is_sparse=study.sparse, gathering="")

    warn_if_weak(estimator.epsilon, estimator.delta)
    with needs_no_accountant(silent=False):  # each site charges its own
        try:
            estimator.fit(Collection(opened))
        except BaseException:
            for federation in begun:
                federation.abandon()
            raise
    lacking = begun[0].end(estimator.privacy_.release_id)
    if lacking:
        warnings.warn(
            f"the fit is complete, but {', '.join(lacking)} did not confirm its end: the ledger "
            "there does not name this release, and the run's key is kept; ask them to stop the "
            f"site and to delete {begun[0].plan.run}.json in its folder runs",
            stacklevel=2,
        )
    announce(estimator.privacy_, estimator.verbose)
    warn_of_noise(estimator)
    return estimator


def _check(estimator: BasePrivatePCA, chosen: BasePrivatePCA, study: Study) -> None:
    """Refuse what is not offered over sites, before anything is sent."""
    if type(chosen) not in {method.estimator for method in METHODS.values()}:
        raise TypeError(
            f"sites answer the questions of this package's methods, and {type(chosen).__name__} is "
            "none of them; choose PrivatePCA or DPGauss"
        )
    fixed = {
        "adjacency": ("add-remove", "the number of records is private"),
        "random_state": (None, "the sites draw the noise"),
        "accountant": (None, "each site charges its own ledger"),
        "unit": (study.unit, f"the study protects a {study.unit!r}"),
        "missing": (study.missing, f"the study has missing={study.missing!r}"),
        "sampling": ("reuse", "nobody draws random subsets"),
    }
    for name, (value, reason) in fixed.items():
        if any(getattr(one, name, value) != value for one in (estimator, chosen)):
            raise ValueError(f"over sites, {reason}; set {name}={value!r}")
    if estimator._accounted_unit != study.unit:
        raise ValueError(f"over sites, protect no less than a {study.unit}")
    if not np.isfinite(estimator.epsilon):
        raise ValueError("sites give no exact sums; set a finite epsilon")
    if len(study.sites) < 2:
        raise ValueError("one site is too few; fit where its records are")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SitesRecords(Pieces):
    """The records of all sites, each site's in one piece; the sites add noise to their sums.

    The noise is that of all sites, of which `RunPlan.honest` count; see `SharedQuery`.

    Parameters
    ----------
    federation : Federation
    """

    federation: Federation

    @property
    def private_n(self) -> int:
        """No more records are anywhere than the study declares; how many there are is not known."""
        return self.federation.plan.study.max_rows

    def total(self, statistic: Any) -> NoReturn:
        """Refuse: no sum is known without noise."""
        self.whole("An exact total")

    def sums(self, questions: Sequence[Any]) -> NoReturn:
        """Refuse: no sum is known without noise."""
        self.whole("An exact total")

    def whole(self, what: str) -> NoReturn:
        """Refuse: there are no records here."""
        raise TypeError(
            f"{what} is not available over sites, which answer sums only and add Gaussian noise; "
            "choose DPGauss or KDPPCA"
        )

    def parts(self, shares: Sequence[int], noise: NoiseSource) -> NoReturn:
        """Refuse: sites draw no random subsets."""
        self.whole("A random subset")

    def query(
        self, statistic: Statistic, sensitivity: float, name: str, part: str
    ) -> Callable[[float], SharedQuery]:
        """Return a statistic's query as a function of its cost: each site adds a share of noise."""
        plan = self.federation.plan
        build: Callable[[float], SharedQuery] = partial(
            SharedQuery.at,
            name=name,
            n_sites=len(plan.study.sites),
            honest=plan.honest,
            max_rows=plan.study.max_rows,
            part=part,
            **terms(statistic, self.layout),
        )
        return lambda mu: build(mu * SLIGHTLY_LESS)

    @property
    def noise_factor(self) -> float:
        """``sqrt(m / h)``: all m sites add noise of which that of h would do.

        Proof that it is public, and so is all that follows from it. m and h are fields of the plan,
        which every site agrees to before the first question. Nobody's records have a say in them.
        """
        plan = self.federation.plan
        return math.sqrt(len(plan.study.sites) / plan.honest)

    def answer(self, statistic: Statistic, query: Any, noise: NoiseSource) -> np.ndarray:
        """A sum over all sites' records, with noise of every site.

        Raises
        ------
        SitesError
            The run has failed.
        TypeError
            It is asked with other noise than the sites add.
        """
        if not isinstance(query, SharedQuery):
            self.whole(query.name)
        return self.federation.ask(Question(self.views, statistic), query)

    def details(self) -> dict[str, Any]:
        """Return the participating sites, and the charge of each."""
        federation = self.federation
        plan, study = federation.plan, federation.plan.study
        mu = root_up(cost(tuple(federation.answered)))
        charged = {"questions": len(federation.answered), "mu": mu}
        charged["epsilon"] = epsilon_of(mu, plan.delta)
        return {
            "study": study.name,
            "run": plan.run,
            "plan": plan.digest,
            "sites": federation.sites,
            "honest_sites": plan.honest,
            "charged": {site: charged for site in federation.sites},
            "max_sites_per_person": study.max_sites_per_person,
            "person_epsilon": study.person_epsilon(plan.epsilon, plan.delta),
        }
