"""Fits over sites: loss beside one place, messages, and noise that every site adds by itself.

Run ``python benchmarks/bench_sites.py --data FOLDER`` (or set SKDPPCA_DATA). FOLDER holds
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
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

sys.path.append(str(Path(__file__).with_name("experiments_power")))  # for _matrices

import numpy as np
from _common import arguments, kept, machine, save, show
from _matrices import GENERATED, load
from _methods import DELTA, L, printed_multiplier
from bench_methods import captured
from scipy import sparse
from sklearn.datasets import load_digits

from skdppca import KDPPCA, DPGauss, DPPowerMethod, KDPOjas, PrivacyLedger, ResidualGauss
from skdppca.exceptions import SeededNoiseWarning
from skdppca.federated import (
    Identity,
    LocalSites,
    Policy,
    Reply,
    Site,
    Study,
    Transport,
    fit_sites,
)
from skdppca.federated.transport import Action
from skdppca.privacy import epsilon_of, mu_of

EPSILON, K = 1.0, 5
SITES = {3: 2, 20: 16}  # m, h
COMPARED = {3: 2, 10: 8, 20: 16, 50: 40}
METHODS = (DPGauss, DPPowerMethod)
ALL_METHODS = (DPGauss, ResidualGauss, KDPPCA, KDPOjas, DPPowerMethod)
FIRST_SEED = 50_000
MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None  # files are written to be durable


class Data(NamedTuple):
    name: str
    X: Any
    covariance: np.ndarray

    def loss(self, components: np.ndarray) -> float:
        return 1 - captured(components, self.covariance)


def data(name: str, X: Any) -> Data:
    n, mean = X.shape[0], np.asarray(X.mean(axis=0)).ravel()
    gram = (X.T @ X).toarray() if sparse.issparse(X) else X.T @ X
    return Data(f"{name}, {n} x {X.shape[1]}", X, gram / n - np.outer(mean, mean))


def tables(folder: Path | None) -> list[Data]:
    """A dense table, and a sparse one of users and items."""
    name = "MSWeb"
    X = load(name, folder)
    if X is None:
        name, X = GENERATED, load(GENERATED, None)
    return [data("digits", load_digits().data), data(name, X)]


# --- fits


class Sent(NamedTuple):
    """One message to a site and its reply: numbers of the answer, bytes each way, and its price."""

    action: str
    entries: int
    down: int
    up: int
    mu: float


class Counted:
    """Carries messages, and keeps how long they were; all sites get and send as much."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.sent: list[Sent] = []

    def exchange(
        self,
        action: Action,
        body: bytes,
        signature: str,
        arrays: Mapping[str, np.ndarray],
        sites: Sequence[str],
        accepts: Callable[[str, Reply], bool],
    ) -> dict[str, Reply]:
        replies = self._transport.exchange(action, body, signature, arrays, sites, accepts)
        reply = replies[sites[0]]
        down = len(body) + len(signature) + sum(array.nbytes for array in arrays.values())
        up = sum(len(key) + len(text) for key, text in reply.fields.items())
        vector = np.zeros(0) if reply.vector is None else reply.vector
        mu = float.fromhex(reply.fields.get("mu", "0"))
        self.sent.append(Sent(action, vector.size, down, up + vector.nbytes, mu))
        return replies


def over_sites(method: type, table: Data, m: int, h: int) -> tuple[Any, list[Sent]]:
    """An estimator fitted over new sites, and what was sent."""
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
                name,
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
    return estimator, transport.sent


def in_one_place(method: type, table: Data, noise: float, fits: int) -> np.ndarray:
    """Losses of fits to all rows together with this multiple of the noise."""
    epsilon = epsilon_of(mu_of(EPSILON, DELTA) / noise, DELTA)

    def central(name: str, method: type, noise: float, fits: int) -> list[float]:
        seeds = range(FIRST_SEED, FIRST_SEED + fits)
        pcas = (method(K, epsilon=epsilon, delta=DELTA, random_state=seed) for seed in seeds)
        return [table.loss(pca.fit(table.X).components_) for pca in pcas]

    return np.array(kept(central, table.name, method, noise, fits))


def site_losses(method: type, table: Data, m: int, h: int, fits: int) -> np.ndarray:
    """Losses of fits over sites."""

    def joint(name: str, method: type, m: int, h: int, fits: int) -> list[float]:
        return [table.loss(over_sites(method, table, m, h)[0].components_) for _ in range(fits)]

    return np.array(kept(joint, table.name, method, m, h, fits))


# --- tables


def interval_of_ratio(found: np.ndarray, expected: np.ndarray) -> tuple[float, float]:
    """95 % bootstrap interval of the ratio of medians."""
    rng = np.random.default_rng(FIRST_SEED)

    def medians(values: np.ndarray) -> np.ndarray:
        return np.median(rng.choice(values, (10_000, len(values))), axis=1)

    low, high = np.quantile(medians(found) / medians(expected), (0.025, 0.975))
    return float(low), float(high)


def accuracy(found: np.ndarray, expected: np.ndarray, told: dict[str, Any]) -> dict[str, Any]:
    """One row: fits over sites beside fits in one place."""
    ratio = float(np.median(found) / np.median(expected))
    low, high = interval_of_ratio(found, expected)
    return told | {
        "loss over sites": f"{np.median(found):.4f}",
        "loss in one place at that noise": f"{np.median(expected):.4f}",
        "ratio (95 %)": f"{ratio:.2f} ({low:.2f} to {high:.2f})",
        "fits": f"{len(found)} and {len(expected)}",
        "within 10 %": "yes" if abs(ratio - 1) <= 0.1 else "no",
    }


def questions_of(estimator: Any, sent: list[Sent]) -> list[tuple[str, Sent]]:
    """All questions with their names, which sites are not told; the prices tell which is which."""
    spendings = list(estimator.privacy_.spendings)
    found = []
    for one in (one for one in sent if one.action == "answer"):
        spending = next(spending for spending in spendings if spending.mu == one.mu)
        spendings.remove(spending)
        found.append((spending.name, one))
    return found


def per_question(estimator: Any, sent: list[Sent]) -> list[dict[str, Any]]:
    """Questions of one name in one row."""
    kinds: dict[tuple[str, int], list[Sent]] = {}
    for name, one in questions_of(estimator, sent):
        kinds.setdefault((name, one.entries), []).append(one)
    return [
        {
            "method": type(estimator).__name__,
            "question": name,
            "asked": str(len(ones)),
            "numbers in an answer": str(entries),
            "bytes to a site": str(max(one.down for one in ones)),
            "bytes from a site": str(max(one.up for one in ones)),
        }
        for (name, entries), ones in kinds.items()
    ]


def whole_fit(estimator: Any, sent: list[Sent], table: Data, m: int) -> dict[str, Any]:
    """All messages of a fit, those that agree on the plan and end the run too."""
    down, up = (sum(getattr(one, name) for one in sent) / 1e3 for name in ("down", "up"))
    return {
        "data": table.name,
        "method": type(estimator).__name__,
        "m": str(m),
        "questions": str(sum(one.action == "answer" for one in sent)),
        "kB to a site": f"{down:.0f}",
        "kB from a site": f"{up:.0f}",
        "kB at the server": f"{m * (down + up):.0f}",
    }


def per_iteration(estimator: Any, sent: list[Sent], table: Data, s: int) -> dict[str, Any]:
    """The last iteration beside Table 1 of Nicolas et al., in their letters and in numbers."""
    asked = dict(questions_of(estimator, sent))  # of each name, the last
    radius, product = asked["radius of the product"], asked["product"]
    n = table.X.shape[1]
    p = product.entries // n
    client = n * p + math.log2(s)
    both = radius.down + radius.up + product.down + product.up
    return {
        "data": table.name,
        "s": str(s),
        "n": str(n),
        "p": str(p),
        "client, np": str(n * p),
        "client, log s + np": f"{client:.0f}",
        "server, s (log s + np)": f"{s * client:.0f}",
        "ours, to a site": f"{product.down / 8:.0f}",
        "ours, from a site": f"{product.up / 8:.0f}",
        "with the question for its radius": f"{both / 8:.0f}",
        "all that, at the server": f"{s * both / 8:.0f}",
    }


def local(losses: Mapping[float, np.ndarray], told: dict[str, Any], m: int, h: int) -> dict:
    """One row: the same fit with the noise of one place, of sites with masks, and without."""
    noises = {"one place": 1.0, "over sites": math.sqrt(m / h), "local noise": math.sqrt(m)}
    shown = {name: f"{np.median(losses[x]):.3g} (x {x:.2f})" for name, x in noises.items()}
    return told | {"m": str(m), "h": str(h)} | shown


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("SKDPPCA_DATA"))
    parser.add_argument("--fits", type=int, nargs=2, default=(61, 25), help="over 3 and 20 sites")
    parser.add_argument("--central-fits", type=int, default=121)
    options = parser.parse_args()
    # losses of the larger table vary less, and its fits take longer
    all_fits = [*options.fits, options.central_fits]
    warnings.simplefilter("ignore", SeededNoiseWarning)  # public or generated data
    facts = machine() | {
        "release": f"epsilon {EPSILON:g}, delta {DELTA:g}, {K} components, no public facts",
    }
    noises = {1.0} | {math.sqrt(m / h) for m, h in COMPARED.items()} | set(map(math.sqrt, COMPARED))
    beside: list[dict] = []
    questions: list[dict] = []
    whole: list[dict] = []
    iterations: list[dict] = []
    alone: list[dict] = []
    for table in tables(None if options.data is None else Path(options.data)):
        small = not sparse.issparse(table.X)
        *site_fits, central_fits = all_fits if small else [-(-n // 3) for n in all_fits]
        for method in ALL_METHODS if small else METHODS:
            told = {"data": table.name, "method": method.__name__}
            losses = {}
            if method in METHODS:
                losses = {x: in_one_place(method, table, x, central_fits) for x in noises}
                alone += [local(losses, told, m, h) for m, h in COMPARED.items()]
            for (m, h), fits in zip(SITES.items(), site_fits, strict=True):
                estimator, sent = over_sites(method, table, m, h)
                if losses:
                    row = told | {"m": str(m), "h": str(h)}
                    found = site_losses(method, table, m, h, fits)
                    beside.append(accuracy(found, losses[math.sqrt(m / h)], row))
                    show(beside[-1:], {})
                whole.append(whole_fit(estimator, sent, table, m))
                if method is DPPowerMethod:
                    iterations.append(per_iteration(estimator, sent, table, m))
                if small and m == 3:
                    questions += per_question(estimator, sent)
    exact = math.sqrt(L) / mu_of(EPSILON, DELTA)
    multipliers = (
        f"{printed_multiplier(EPSILON):.2f} as Algorithm 2 prints it, all sites honest; "
        f"{exact:.2f} by the exact price, times the factor in the table"
    )
    places = {
        "fits in one place": f"{options.central_fits} (users and items: a third), "
        f"seeds from {FIRST_SEED}"
    }
    counted = {"counted": "all that a site gets and sends, without what HTTP and Flower add"}
    for name, rows, more in (
        (
            "sites",
            beside,
            places | {"sites": "their noise is the operating system's, without a seed"},
        ),
        ("sites_questions", questions, counted | {"data": "digits, 3 sites"}),
        ("sites_fits", whole, counted),
        ("sites_iteration", iterations, counted | {"unit": "numbers of 8 bytes; log to base 2"}),
        (
            "sites_local",
            alone,
            places | {f"noise over sensitivity, one of {L} equal passes": multipliers},
        ),
    ):
        save(name, rows, facts | more)


if __name__ == "__main__":
    main()
