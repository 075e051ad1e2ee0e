"""Fits on a cluster of processes: workers and clients that die, and what the logs hold."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Timer

import numpy as np
import pytest

pytest.importorskip("distributed", reason="the extra dask is not installed")

from distributed import Client, LocalCluster

from skdppca import DPGauss, PrivacyAccountant, PrivacyLedger
from skdppca.out_of_core import cluster as code

from .test_cluster import as_dask, as_frame, as_labels, seeded
from .test_pieces import CASES, SUMS, D, X, assert_same_release

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]

# Found nowhere but in private rows: as a number, and as text.
PLANTED = "271828.459"


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=None,
            memory_limit=0,
        ) as workers,
        Client(workers) as connected,
    ):
        yield connected


def kept():
    """Entries and bytes that a worker keeps."""
    return len(code.KEPT._of), code.KEPT.size


@pytest.mark.parametrize("case", ["rows", "sparse", "groups", "private scales"])
@pytest.mark.parametrize("name", SUMS)
def test_a_fit_on_processes_gives_the_release_of_the_array(client, name, case):
    rows, groups, parameters = CASES[case]
    whole = seeded(name, **parameters).fit(rows, groups=groups)
    spread = seeded(name, **parameters).fit(as_dask(rows), groups=as_labels(groups))
    assert_same_release(spread, whole)
    assert set(client.run(kept).values()) == {(0, 0)}


def test_measures_are_kept_on_the_workers_during_a_fit(client, monkeypatch):
    seen = []
    ask = code.ClusterRecords.sums

    def spy(self, questions):
        totals = ask(self, questions)
        seen.extend(client.run(kept).values())
        return totals

    monkeypatch.setattr(code.ClusterRecords, "sums", spy)
    seeded("KDPPCA").fit(as_dask(X).persist())
    assert max(seen) > (0, 0)
    assert set(client.run(kept).values()) == {(0, 0)}


@pytest.mark.parametrize("persisted", [False, True], ids=["lazy", "persisted"])
def test_a_fit_outlives_a_worker_and_is_charged_once(client, monkeypatch, persisted):
    client.wait_for_workers(2)
    rows = as_dask(X, (30,) * 30)
    rows = rows.persist() if persisted else rows
    computed, passes, killed = code._computed, [], []

    def dying(tasks, after=""):
        passes.append(len(tasks))
        if len(passes) == 4:
            pid = min(client.run(os.getpid).values())
            killed.append(pid)
            Timer(0.05, os.kill, (pid, signal.SIGKILL)).start()
        return computed(tasks, after)

    monkeypatch.setattr(code, "_computed", dying)
    accountant = PrivacyAccountant(100.0, 1e-3)
    fitted = seeded("KDPPCA", accountant=accountant).fit(rows)
    assert len(killed) == 1 and len(passes) > 8
    client.wait_for_workers(2)
    assert killed[0] not in client.run(os.getpid).values()
    assert len(accountant.receipts) == 1
    assert_same_release(fitted, seeded("KDPPCA").fit(X))


CLIENT = """
import sys, time
import dask.array as da, numpy as np
from distributed import Client
from skdppca import DPGauss, PrivacyLedger

def slow(block):
    time.sleep(1)
    return block

with Client(sys.argv[1]):
    rows = da.from_array(np.arange(4000.0).reshape(1000, 4), chunks=(100, 4), name=False)
    rows = rows.map_blocks(slow, dtype=float)
    DPGauss(2, epsilon=1.0, accountant=PrivacyLedger(sys.argv[2])).fit(rows)
"""


def test_a_client_that_is_killed_leaves_its_charge_in_the_ledger(client, tmp_path):
    path = tmp_path / "study.ledger"
    PrivacyLedger.create(path, epsilon=10.0, delta=1e-3)
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", CLIENT, client.scheduler.address, str(path)],
        cwd=ROOT,
    )
    deadline = time.monotonic() + 120
    while not PrivacyLedger(path).receipts and time.monotonic() < deadline:
        assert process.poll() is None
        time.sleep(0.1)
    process.kill()
    process.wait()
    assert len(PrivacyLedger(path).receipts) == 1
    assert_same_release(seeded().fit(as_dask(X)), seeded().fit(X))  # the workers live on


def with_planted(value=float(PLANTED), **more):
    rows = X.copy()
    rows[::7, 0] = value
    for entry in more.values():
        rows[600, 1] = entry
    return rows


def as_text(block):
    return np.where(block == float(PLANTED), PLANTED, "other").astype(object)


REFUSED = {
    "NaN": lambda: as_dask(with_planted(entry=np.nan)),
    "infinity": lambda: as_dask(with_planted(entry=np.inf)),
    "text": lambda: as_dask(with_planted()).map_blocks(as_text, meta=np.empty((0, D))),
    "lists": lambda: (
        as_dask(with_planted())
        .rechunk({1: -1})
        .map_blocks(np.ndarray.tolist, meta=np.empty((0, D)))
    ),
    "frame": lambda: as_frame(with_planted(entry=np.nan)),
}


def logs(client):
    """All that the scheduler and the workers have logged."""
    lines = list(client.get_scheduler_logs())
    for worker in client.get_worker_logs(nanny=False).values():
        lines.extend(worker)
    return "\n".join(f"{level} {text}" for level, text in lines)


@pytest.mark.parametrize("case", REFUSED)
def test_no_log_quotes_rows_that_are_refused(client, case):
    accountant = PrivacyAccountant(10.0, 1e-3)
    with pytest.raises(ValueError) as refused:
        DPGauss(2, accountant=accountant).fit(REFUSED[case]())
    assert PLANTED not in str(refused.value) and accountant.receipts == ()
    assert PLANTED not in logs(client)


def test_what_a_task_of_the_user_raises_is_logged_so_the_test_above_can_fail(client):
    def failing(block):
        raise ValueError(f"the planted {PLANTED}")

    with pytest.raises(RuntimeError, match="could not compute X"):
        DPGauss(2).fit(as_dask(X).map_blocks(failing, meta=np.empty((0, D))))
    assert PLANTED in logs(client)


def pretend(other):
    """Have this worker say that it is of another kind, or of its own again."""
    code.own_environment = getattr(code, "own_environment", code.environment)
    code.environment = (lambda: "another") if other else code.own_environment


def test_unequal_workers_are_refused_before_the_charge(client):
    client.wait_for_workers(2)
    one = next(iter(client.run(os.getpid)))
    client.run(pretend, True, workers=[one])
    accountant = PrivacyAccountant(10.0, 1e-3)
    try:
        with pytest.raises(ValueError, match="workers of the cluster differ"):
            DPGauss(2, accountant=accountant).fit(as_dask(X))
    finally:
        client.run(pretend, False)
    assert accountant.receipts == ()


def test_a_worker_that_joins_later_and_differs_ends_the_fit(client, monkeypatch):
    client.wait_for_workers(2)
    computed, passes = code._computed, []

    def changing(tasks, after=""):
        passes.append(len(tasks))
        if len(passes) == 3:
            client.run(pretend, True)
        return computed(tasks, after)

    monkeypatch.setattr(code, "_computed", changing)
    accountant = PrivacyAccountant(10.0, 1e-3)
    try:
        with pytest.raises(RuntimeError, match=r"workers of the cluster differ.*was charged"):
            DPGauss(2, accountant=accountant).fit(as_dask(X))
    finally:
        client.run(pretend, False)
    assert len(accountant.receipts) == 1


def test_the_example_of_the_guide_runs():
    script = ROOT / "examples" / "cluster" / "on_one_machine.py"
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    guide = (ROOT / "doc" / "guide" / "on_a_cluster.rst").read_text(encoding="utf-8")
    lines = done.stdout.splitlines()
    assert lines[0] == "charges: 1"
    assert all(f"   {line}\n" in guide for line in lines)
