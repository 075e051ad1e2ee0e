"""Fits over sites: loss beside one place, messages, and noise that every site adds by itself.

Run ``python benchmarks/bench_sites.py``. The folder SKDPPCA_DATA holds
``msweb_32710x285_binary_csr.npz``; without it a generated matrix of users and items stands in. All
sites are in this process, with real keys, masks, ledgers and noise, in a folder of memory where
there is one. Row i is at site i modulo m. Loss is 1 - the captured share of the best possible
variance.

What is compared, all at the same epsilon and delta:

- *over sites*: m sites, of which m - h may subtract their noise. The sum has the noise of all m,
  sqrt(m / h) times that of one place.
- *one place at that noise*: all rows together, with the budget ``mu sqrt(h / m)`` for ``mu``.
- *local noise*: no masks, so every site's own answer must be private, as in FedPower (Guo et al.
  2024). Each site adds the whole noise, and their sum has sqrt(m) times as much: a fit in one place
  with ``mu / sqrt(m)``. The rules for sensitivities are the same, so the noise alone is
  compared, and not FedPower's larger sensitivity.

A smaller budget stands in for more noise: over sites, too, all is decided by the noise that there
will be.
"""

from __future__ import annotations

import math
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

sys.path.append(str(Path(__file__).with_name("experiments_power")))  # for _matrices

import numpy as np
from _common import Measured, kept, measure
from _matrices import GENERATED, load
from _methods import DELTA, L, printed_multiplier
from scipy import sparse
from sklearn.datasets import load_digits
from timing import interleaved, paired_ratio

from skdppca import KDPPCA, DPGauss, DPPowerMethod, KDPOjas, PrivacyLedger, ResidualGauss
from skdppca.federated import Identity, LocalSites, Policy, Site, Study, fit_sites
from skdppca.federated.messages import Message, Request
from skdppca.federated.transport import Reply
from skdppca.metrics import zeta_squared
from skdppca.privacy import epsilon_of, mu_of

EPSILON, K = 1.0, 5
SITES = ((3, 2), (20, 16))  # m, h
COMPARED = ((3, 2), (10, 8), (20, 16), (50, 40))
METHODS = (DPGauss, DPPowerMethod)
ALL_METHODS = (DPGauss, ResidualGauss, KDPPCA, KDPOjas, DPPowerMethod)
FIRST_SEED = 50_000
MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None  # files are written to be durable


class Data(NamedTuple):
    name: str
    X: Any
    covariance: np.ndarray

    def loss(self, components: np.ndarray) -> float:
        return zeta_squared(components, self.covariance)


def data(name: str, X: Any) -> Data:
    n, mean = X.shape[0], np.asarray(X.mean(axis=0)).ravel()
    gram = (X.T @ X).toarray() if sparse.issparse(X) else X.T @ X
    return Data(f"{name}, {n} x {X.shape[1]}", X, gram / n - np.outer(mean, mean))


@cache
def tables() -> dict[str, Data]:
    """A dense table, and a sparse one of users and items."""
    folder = os.environ.get("SKDPPCA_DATA")
    X, name = load("MSWeb", folder and Path(folder)), "MSWeb"
    if X is None:
        X, name = load(GENERATED, None), GENERATED
    found = (data("digits", load_digits().data), data(name, X))
    return {one.name: one for one in found}


# --- fits


class Counted:
    """Carries messages, and counts questions and bytes of one site; all get and send as much."""

    def __init__(self, transport: LocalSites) -> None:
        self._transport = transport
        self.questions = self.down = self.up = 0

    def exchange(
        self,
        message: Message,
        signature: str,
        arrays: Mapping[str, np.ndarray],
        sites: Sequence[str],
        accepts: Callable[[str, Reply], bool],
    ) -> dict[str, Reply]:
        replies = self._transport.exchange(message, signature, arrays, sites, accepts)
        reply = replies[sites[0]]
        self.questions += isinstance(message, Request)
        self.down += (
            len(message.body) + len(signature) + sum(array.nbytes for array in arrays.values())
        )
        self.up += sum(len(key) + len(text) for key, text in reply.fields.items())
        self.up += 0 if reply.vector is None else reply.vector.nbytes
        return replies


def over_sites(method: type, table: Data, m: int, h: int) -> tuple[Any, Counted]:
    """An estimator fitted over new sites, and what carried its messages."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        analyst = Identity.create(Path(folder, "analyst.key"))
        names = [f"site{i:02}" for i in range(m)]
        keys = {name: Site.prepare(Path(folder, name)).public for name in names}
        X = table.X
        shape = {"columns": X.shape[1], "sparse": sparse.issparse(X)}
        study = Study("study", keys, **shape, max_colluders=m - h)
        sites = []
        for i, name in enumerate(names):
            home = Path(folder, name)
            PrivacyLedger.create(home / "study.ledger", epsilon=EPSILON, delta=DELTA)
            Policy(
                study,
                (analyst.public,),
                "memory",
                max_epsilon=EPSILON,
                max_delta=DELTA,
            ).write(home / "site.json")
            sites.append(Site(home, lambda *_, i=i: (X[i::m], None)))
        transport = Counted(LocalSites(sites))
        estimator = method(K, epsilon=EPSILON, delta=DELTA)
        fit_sites(estimator, study=study, transport=transport, analyst=analyst)
    return estimator, transport


def in_one_place(name: str, method: type, noise: float, fits: int) -> list[float]:
    """Losses of fits to all rows together with this multiple of the noise."""
    table, epsilon = tables()[name], epsilon_of(mu_of(EPSILON, DELTA) / noise, DELTA)
    seeds = range(FIRST_SEED, FIRST_SEED + fits)
    pcas = (method(K, epsilon=epsilon, delta=DELTA, random_state=seed) for seed in seeds)
    return [table.loss(pca.fit(table.X).components_) for pca in pcas]


def site_losses(name: str, method: type, m: int, h: int, fits: int) -> list[float]:
    """Losses of fits over sites."""
    table = tables()[name]
    return [table.loss(over_sites(method, table, m, h)[0].components_) for _ in range(fits)]


# --- tables


def interval_of_ratio(found: np.ndarray, expected: np.ndarray) -> tuple[float, float]:
    """95 % bootstrap interval of the ratio of medians."""
    rng = np.random.default_rng(FIRST_SEED)

    def medians(values: np.ndarray) -> np.ndarray:
        return np.median(rng.choice(values, (10_000, len(values))), axis=1)

    low, high = np.quantile(medians(found) / medians(expected), (0.025, 0.975))
    return float(low), float(high)


def compared(repeats: int) -> Iterator[dict[str, str]]:
    """Fits over sites beside more fits in one place; a third as many to users and items."""
    for name, table in tables().items():
        for method, (m, h) in product(METHODS, SITES):
            central = -(-repeats // (3 if sparse.issparse(table.X) else 1))
            joint = -(-central // (2 if m == 3 else 5))
            found = np.array(kept(site_losses, name, method, m, h, joint))
            expected = np.array(kept(in_one_place, name, method, math.sqrt(m / h), central))
            ratio = float(np.median(found) / np.median(expected))
            low, high = interval_of_ratio(found, expected)
            yield {
                **{"data": name, "method": method.__name__, "m": str(m), "h": str(h)},
                "loss over sites": f"{np.median(found):.4f}",
                "loss in one place at that noise": f"{np.median(expected):.4f}",
                "ratio (95 %)": f"{ratio:.2f} ({low:.2f} to {high:.2f})",
                "fits": f"{joint} and {central}",
                "within 10 %": "yes" if abs(ratio - 1) <= 0.1 else "no",
            }


def local(repeats: int) -> Iterator[dict[str, str]]:
    """The same fit with the noise of one place, of sites with masks, and without."""
    for name, table in tables().items():
        fits = -(-repeats // (3 if sparse.issparse(table.X) else 1))
        for method, (m, h) in product(METHODS, COMPARED):
            row = {"data": name, "method": method.__name__, "m": str(m), "h": str(h)}
            noises = {"one place": 1, "over sites": math.sqrt(m / h), "local noise": math.sqrt(m)}
            for what, noise in noises.items():
                loss = np.median(kept(in_one_place, name, method, noise, fits))
                row[what] = f"{loss:.3g} (x {noise:.2f})"
            yield row


def messages(_: int) -> Iterator[dict[str, str]]:
    """All messages of a fit, those that agree on the plan and end the run too."""
    for name, table in tables().items():
        methods = METHODS if sparse.issparse(table.X) else ALL_METHODS
        for method, (m, h) in product(methods, SITES):
            _, sent = over_sites(method, table, m, h)
            yield {
                **{"data": name, "method": method.__name__, "m": str(m)},
                "questions": str(sent.questions),
                "kB to a site": f"{sent.down / 1e3:.0f}",
                "kB from a site": f"{sent.up / 1e3:.0f}",
                "kB at the server": f"{m * (sent.down + sent.up) / 1e3:.0f}",
            }


def speed(repeats: int) -> Iterator[dict[str, str]]:
    """Whole fits beside the same in one place; sites answer one after the other."""
    table = next(iter(tables().values()))
    for method in METHODS:
        pca = method(K, epsilon=EPSILON, delta=DELTA)
        cases: dict[str, Any] = {"one place": lambda pca=pca: pca.fit(table.X)}
        cases |= {f"{m} sites": partial(over_sites, method, table, m, h) for m, h in SITES}
        walls = {
            name: [wall for wall, _ in pairs] for name, pairs in interleaved(cases, repeats).items()
        }
        questions = over_sites(method, table, *SITES[0])[1].questions
        for name in cases:
            yield {
                "data": table.name,
                "method": method.__name__,
                "where": name,
                "questions": str(questions),
                "seconds": f"{median(walls[name]):.3g}",
                "seconds a question": f"{median(walls[name]) / questions:.3g}",
                "x one place": f"{paired_ratio(walls[name], walls['one place']):.0f}",
            }


if __name__ == "__main__":
    release = f"epsilon {EPSILON:g}, delta {DELTA:g}, {K} components, no public facts"
    places = f"{{}} (users and items: a third), seeds from {FIRST_SEED}"
    exact = math.sqrt(L) / mu_of(EPSILON, DELTA)
    multipliers = (
        f"{printed_multiplier(EPSILON):.2f} as Algorithm 2 prints it, all sites honest; "
        f"{exact:.2f} by the exact price, times the factor in the table"
    )
    noise = {
        "release": release,
        "fits in one place": places,
        f"noise over sensitivity, one of {L} equal passes": multipliers,
    }
    secure = {"sites": "their noise is the operating system's, without a seed"}
    counted = {"counted": "all that a site gets and sends, without what HTTP and Flower add"}
    measure(
        __doc__,
        {
            "sites": Measured(
                compared, 121, {"release": release, "fits in one place": places} | secure
            ),
            "sites_local": Measured(local, 121, noise),
            "sites_speed": Measured(speed, 9, {"repeats": "{}", "release": release}),
            "sites_fits": Measured(messages, facts={"release": release} | counted),
        },
    )
