"""Sites for tests: in this process, with small ledgers."""

import atexit
import os
import shutil
import tempfile
import warnings
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np

from skdppca import PrivacyLedger
from skdppca.federated import Identity, LocalSites, Policy, Site, Study
from skdppca.federated.masks import RunKey
from skdppca.federated.messages import Close, Request, RunPlan, array_digest
from skdppca.federated.questions import QUESTIONS, standin, terms, written_question
from skdppca.federated.transport import Reply
from skdppca.noise import SharedQuery
from skdppca.out_of_core.pieces import seen_through
from skdppca.statistics import ClippedSum

NAMES = ("east", "north", "south", "west")

# The rows of a study of three sites, and a question about them.
X = np.random.default_rng(0).normal(size=(60, 4))
SUM = ClippedSum(np.zeros(4), 3.0)


@dataclass
class Made:
    """A study with its sites."""

    folder: Path
    study: Study
    analyst: Identity
    sites: dict = field(default_factory=dict)

    @property
    def transport(self):
        return LocalSites(self.sites.values())

    @property
    def call(self):
        """What `fit_sites` is given."""
        return {"study": self.study, "analyst": self.analyst, "transport": self.transport}

    def restarted(self, name):
        """The site as another process would see it."""
        site = self.sites[name]
        self.sites[name] = Site(site.folder, site._read)
        return self.sites[name]

    def receipts(self, name):
        return self.sites[name].ledger.receipts


def new_key():
    return RunKey(os.urandom(32).hex())


def runs_of(site):
    """The ids of all runs that a site has begun."""
    return [file.stem for file in (site.folder / "runs").glob("*.json")]


def parts_of(X, n_sites, labels=None):
    """The rows of a table, shared out among sites: whole groups, if there are any."""
    owner = np.arange(X.shape[0]) % n_sites
    if labels is not None:
        owner = np.asarray(labels) % n_sites
    return [(X[owner == i], None if labels is None else labels[owner == i]) for i in range(n_sites)]


@cache
def ledger(epsilon, delta, unit):
    """A new ledger, to be copied: to make one takes many writes to the disk."""
    path = Path(tempfile.mkdtemp()) / "study.ledger"
    atexit.register(shutil.rmtree, path.parent)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a weak budget
        PrivacyLedger.create(path, epsilon, delta, unit=unit)
    return path


def make(folder, tables, *, budget=(100.0, 1e-5), **fields):
    """A site for each table, a pair of rows and labels, with fields of the study and policies."""
    names = NAMES[: len(tables)] if len(tables) <= len(NAMES) else None
    names = names or tuple(f"site{i:02}" for i in range(len(tables)))
    folder = Path(folder)
    analyst = Identity.create(folder / "analyst.key")
    keys = {name: Site.prepare(folder / name).public for name in names}
    public = {"columns": tables[0][0].shape[1]}
    public |= {name: fields.pop(name) for name in Study.__struct_fields__ if name in fields}
    made = Made(folder, study := Study("study", keys, **public), analyst)
    given = {"min_sites": 2, "max_epsilon": 60.0, "max_delta": 1e-5} | fields
    for name, table in zip(names, tables, strict=True):
        shutil.copy(ledger(*budget, study.unit), folder / name / "study.ledger")
        groups = None if study.unit == "row" else "group"
        policy = Policy(study, (analyst.public,), "memory", groups=groups, **given)
        policy.write(folder / name / "site.json")
        made.sites[name] = Site(folder / name, lambda *_, table=table: table)
    return made


class Talk:
    """An analyst who sends messages one by one, and may change them and fields of the plan."""

    def __init__(self, made, **more):
        self.made = made
        study = more.get("study", made.study)
        given = {
            "run": os.urandom(16).hex(),
            "study": study,
            "epsilon": 5.0,
            "delta": 1e-6,
            "estimator": "DPGauss",
            "statistics": QUESTIONS,
        }
        self.plan = RunPlan(**(given | more))
        self.keys = {}

    def send(self, name, message, arrays=None, signer=None):
        """What a site does with a message: its reply, or the code of its refusal."""
        signature = (signer or self.made.analyst).sign(message.body)
        site = self.made.sites[name]
        reply = site.respond(message.body, signature, arrays or {})
        assert reply.is_from(name, site.identity.public, message.digest)
        return reply.refused or reply

    def ask(self, statistic=SUM, name="east", **changes):
        """What a site does with a question."""
        return self.send(name, *self.request(statistic, **changes))

    def hello(self):
        """The first replies of all sites."""
        replies = {name: self.send(name, self.plan) for name in self.made.sites}
        for name, reply in replies.items():
            if isinstance(reply, Reply):
                self.keys[name] = reply.fields["key"], reply.fields["key_signature"]
        return replies

    def query(self, statistic, steps, mu):
        study, plan = self.plan.study, self.plan
        fields = terms(statistic, seen_through(standin(study), steps).layout)
        more = {"n_sites": len(study.sites), "honest": plan.honest, "max_rows": study.max_rows}
        return SharedQuery.at(mu, "asked", **fields, **more)

    def request(self, statistic, *, steps=(), mu=0.1, round=1, **changes):
        """A question, and the arrays beside it."""
        query = self.query(statistic, steps, mu)
        question, arrays = written_question(steps, statistic)
        given = {
            "run": self.plan.run,
            "plan": self.plan.digest,
            "round": round,
            "question": question,
            "inputs": {name: array_digest(array) for name, array in arrays.items()},
            "grid_log2": query.grid_log2,
            "noise_sd": query.site_sd,
            "keys": self.keys,
        }
        return Request(**(given | changes)), arrays

    def close(self, release=None):
        return Close(run=self.plan.run, plan=self.plan.digest, release=release)
