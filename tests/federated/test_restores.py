"""A site whose folder is put back, copied or loses a file: the same bytes, or a refusal.

Nothing here is masked, so that what a site sends can be compared with what it hides.
"""

import json
import os
import signal
import subprocess
import sys
from contextlib import nullcontext
from functools import partial
from itertools import count

import numpy as np
import pytest
from msgspec.structs import replace
from scipy import sparse

pytest.importorskip("cryptography")

from skdppca import PrivacyLedger
from skdppca.federated import Refusal, Site, Study
from skdppca.federated import runs as runs_module
from skdppca.federated import site as site_module
from skdppca.federated.keyed_noise import secret_of
from skdppca.federated.site_table import SiteTable
from skdppca.federated.transport import Reply
from skdppca.noise import SharedQuery
from skdppca.noise.gaussian import grid_steps

from .local_sites import SUM, Talk, X, make, parts_of

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="cp, tar and fork")

ROUNDS = 4
TABLE = np.random.default_rng(1).normal(size=(4000, 4))


@pytest.fixture(autouse=True)
def unmasked(monkeypatch):
    monkeypatch.setattr(site_module, "masked", lambda vector, pads: vector.astype(np.uint64))


def asked(talk, round, seen):
    """What the site says to a question; never other bytes than those that were seen."""
    request, arrays = talk.request(SUM, round=round)
    answer = talk.send("east", request, arrays)
    if isinstance(answer, Reply):
        sent = json.dumps(answer.fields), answer.vector.tobytes()
        assert seen.setdefault(request.digest, sent) == sent
    else:
        assert answer is not Refusal.INTERNAL
    return answer


def vector(answer):
    assert isinstance(answer, Reply)
    return answer.vector.view(np.int64)


def backed_up(folder):
    """A copy of it, made as a person makes one."""
    subprocess.run(["cp", "-a", folder, folder.with_name("backup")], check=True)


# In the folder that holds "east" and "backup", of which one is a copy of the other. A site looks at
# the content of its files alone, so the ways differ in what is left of which file.
RESTORES = {
    "cp over it": "cp -a backup/. east/",
    "rm and cp": "rm -rf east; cp -a backup east",
    "links": "rm -rf east; cp -al backup east; rm backup/study.ledger",
    "all but the ledger": "tar -C backup --exclude study.ledger -cf - . | tar -C east -xf -",
    "all but the ledger, cleanly": "cp -a east/study.ledger .; rm -rf east; cp -a backup east; "
    "cp -a study.ledger east/",
    "the ledger alone": "cp -a backup/study.ledger east/",
    "another file for the ledger": "rm east/study.ledger; cp -a backup/study.ledger east/",
    "the runs alone": "cp -a backup/runs/. east/runs/",
    "all but the runs": "find backup -maxdepth 1 -type f -exec cp -p {} east/ \\;",
    "the run's file and the ledger": "cat backup/study.ledger > east/study.ledger; "
    "cp backup/runs/*.json east/runs/",
}


def put_back(made, name):
    subprocess.run(RESTORES[name], shell=True, cwd=made.folder, check=True)


# Ways after which all is answered: what the ledger still has for no charge. In the other ways the
# ledger's head is left, or its rows, and tells of them.
ANSWERED = ("rm and cp", "links", "the runs alone")


@pytest.mark.parametrize("restarted", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.parametrize("before", [0, 2])
@pytest.mark.parametrize("name", RESTORES)
def test_no_question_is_answered_twice_with_other_noise(talk, name, before, restarted):
    seen = {}
    for round in range(1, ROUNDS):
        if round == before + 1:
            backed_up(talk.made.folder / "east")
        assert isinstance(asked(talk, round, seen), Reply)
    assert len(seen) == ROUNDS - 1
    put_back(talk.made, name)
    if restarted:
        talk.made.restarted("east")
    answers = [asked(talk, round, seen) for _ in range(2) for round in range(1, ROUNDS + 1)]
    if name in ANSWERED and restarted:  # to the bit
        assert all(isinstance(answer, Reply) for answer in answers)
        assert len(talk.made.receipts("east")) == ROUNDS


def test_every_run_and_every_site_has_a_secret_of_its_own():
    one, other = bytes(32), bytes([1]) * 32
    found = {secret_of(secret, run) for secret in (one, other) for run in ("ab" * 16, "cd" * 16)}
    assert len(found) == 4


def test_a_folder_that_was_put_back_from_before_the_run_draws_the_same_noise(tmp_path):
    made = make(tmp_path, parts_of(X, 3))
    east = made.sites["east"]

    def asked_all(talk):
        """The answers, the key of the masks, and the head of the ledger."""
        talk.hello()
        sent = [vector(asked(talk, i, {})) for i in (1, 2, 3)]
        head = east.ledger.statement().chain.head()
        return [one.tobytes() for one in sent], talk.keys["east"], head

    backed_up(made.folder / "east")
    first = Talk(made)
    before = asked_all(first)
    put_back(made, "rm and cp")
    east = made.restarted("east")
    after = asked_all(Talk(made, run=first.plan.run))  # the same plan
    assert before[0] == after[0]
    assert before[1] != after[1] and before[2] != after[2]
    assert len(made.receipts("east")) == 3


def test_another_run_draws_other_noise(talk):
    other = Talk(talk.made)
    other.hello()
    for round in (1, 2):  # alike with probability below 1e-9
        mine, theirs = (vector(asked(one, round, {})) for one in (talk, other))
        assert (mine != theirs).any()


@pytest.mark.parametrize("name", ["noise.key", "identity.key"])
@pytest.mark.parametrize("content", [None, "", "ab" * 31, "AB" * 32])
def test_a_site_without_its_secrets_does_not_start(talk, name, content):
    file = talk.made.folder / "east" / name
    file.unlink() if content is None else file.write_text(content)
    error, says = ValueError, f"{name}: it holds no secret; put the file back"
    if content is None:
        error, says = FileNotFoundError, name
    with pytest.raises(error, match=says):
        Site(file.parent)


# --- another sum


def nearly(query, total):
    """The vector, but for one entry by one step of the grid."""
    return np.add(grid_steps(total, query.grid), [1, 0, 0, 0])


@pytest.mark.parametrize("answers", [True, False])
def test_the_same_question_with_another_vector_is_refused(talk, monkeypatch, answers):
    def dies(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        if not answers:
            patch.setattr(SharedQuery, "share", dies)
        with nullcontext() if answers else pytest.raises(KeyboardInterrupt):
            vector(asked(talk, 1, {}))
    (receipt,) = talk.made.receipts("east")
    talk.made.restarted("east")
    with monkeypatch.context() as patch:
        patch.setattr(SharedQuery, "rounded", nearly)
        assert asked(talk, 1, {}) is Refusal.SUM
    vector(asked(talk, 1, {}))
    assert talk.made.receipts("east") == (receipt,)


def test_a_sum_that_fails_is_charged(talk, monkeypatch):
    def fails(*_):
        raise ArithmeticError("of a patient")

    with monkeypatch.context() as patch:
        patch.setattr(Site, "_total", fails)
        for _ in range(2):
            answer = talk.ask()
            assert answer is Refusal.INTERNAL
    assert len(talk.made.receipts("east")) == 1
    assert asked(talk, 1, {}) is Refusal.SUM


@pytest.mark.parametrize("mu", [0.8, 30.0])
def test_what_is_not_paid_for_is_refused_before_the_sum(tmp_path, monkeypatch, mu):
    talk = Talk(make(tmp_path, parts_of(X, 3), budget=(5.0, 1e-6)), epsilon=4.0)
    talk.hello()
    ledger = talk.made.sites["east"].ledger
    ledger.charge_external("elsewhere", epsilon=4.9, delta=0.0, adjacency="add-remove")
    monkeypatch.setattr(Site, "_total", lambda *_: pytest.fail("the sum was computed"))
    answer = talk.ask(mu=mu)
    assert answer is (Refusal.BUDGET if mu < 1 else Refusal.BEYOND_PLAN)
    assert len(ledger.receipts) == 1


# --- differences of noises


def constant(*_):
    """One stream for all questions of a run, as if neither the question nor the vector counted."""
    return bytes(32), "seal"


def asked_again(talk, changes, table=None):
    """The answer, and the answer to a changed question after the folder was put back."""
    backed_up(talk.made.folder / "east")
    request, arrays = talk.request(SUM)
    first = vector(talk.send("east", request, arrays))
    put_back(talk.made, "rm and cp")
    site = talk.made.restarted("east")
    if table is not None:
        site._read = lambda *_: (table, None)
    request = replace(request, **changes)
    return request, first, vector(talk.send("east", request, arrays))


def exact(talk, rows, request):
    return talk.query(SUM, (), 0.1).rounded(
        SiteTable(talk.made.study, rows, None).records.total(SUM)
    )


@pytest.mark.parametrize("weak", [True, False])
def test_two_noises_of_one_question_do_not_cancel(talk, monkeypatch, weak):
    # fails with probability 1e-8: all of four numbers of sd 2.8 s below .01 s
    if weak:
        monkeypatch.setattr(site_module, "noise_key", constant)
    request, first, second = asked_again(talk, {"noise_sd": 2 * talk.request(SUM)[0].noise_sd})
    left = 2 * first - second - exact(talk, X[::3], request)
    assert (np.abs(left) <= 3).all() == weak
    assert (np.abs(left).max() > 0.005 * request.noise_sd) == (not weak)


@pytest.mark.parametrize("weak", [True, False])
def test_two_sums_with_one_noise_have_no_exact_difference(talk, monkeypatch, weak):
    # fails with probability 1e-8, as above
    if weak:
        monkeypatch.setattr(site_module, "noise_key", constant)
    monkeypatch.setattr(SiteTable, "fingerprint", "the same")
    runs = talk.made.restarted("east")._runs
    runs.keep(replace(runs.find(talk.plan.run), table="the same"))
    edited = X[::3].copy()
    edited[0] = -edited[0]
    request, first, second = asked_again(talk, {}, edited)
    left = first - second - exact(talk, X[::3], request) + exact(talk, edited, request)
    assert (left == 0).all() == weak
    assert (np.abs(left).max() > 0.005 * request.noise_sd) == (not weak)


# --- a site that is killed, and two that answer at once


def is_killed(step, act, log):
    """Let a child do it, and kill the child at its n-th step, if there is one."""
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        return os.WIFSIGNALED(status)
    try:
        steps = count(1)

        def stepped(call):
            def do(*arguments, **named):
                if next(steps) == step:
                    os.kill(os.getpid(), signal.SIGKILL)
                return call(*arguments, **named)

            return do

        def recorded(vector, pads):
            log.write_bytes(vector.tobytes())
            return vector.astype(np.uint64)

        for kind, name in (
            *((os, name) for name in ("fsync", "replace", "unlink")),
            (PrivacyLedger, "charge"),
            (runs_module.Runs, "keep"),
            (SharedQuery, "rounded"),
            (SharedQuery, "share"),
            (Site, "_signed"),
        ):
            setattr(kind, name, stepped(getattr(kind, name)))
        site_module.masked = recorded
        act()
    finally:
        os._exit(0)


def test_a_site_that_is_killed_at_any_step_has_one_noise_and_one_charge(talk, tmp_path):
    log, seen = tmp_path / "log", {}
    for round in count(1):
        ask = partial(talk.send, "east", *talk.request(SUM, round=round))
        killed = is_killed(round, ask, log)
        talk.made.restarted("east")
        if len(talk.made.receipts("east")) == round:  # it is this question, and no other
            assert talk.ask(mu=0.2, round=round) is Refusal.ROUND
        answer = asked(talk, round, seen)
        assert len(talk.made.receipts("east")) == round
        if log.exists():  # the child got as far as its noise
            assert log.read_bytes() == vector(answer).tobytes()
            log.unlink()
        if not killed:
            break
    assert round > 5


@pytest.mark.parametrize("action", ["hello", "close"])
def test_a_site_that_is_killed_when_a_run_begins_or_ends_goes_on(tmp_path, action):
    made = make(tmp_path, parts_of(X, 3))

    def begun():
        talk = Talk(made)
        if action == "close":
            talk.hello()
            asked(talk, 1, {})
        return talk

    for step in count(1):
        talk = begun()
        message = talk.plan if action == "hello" else talk.close()
        killed = is_killed(step, partial(talk.send, "east", message), tmp_path / "log")
        made.restarted("east")
        if action == "hello":
            talk.hello()
            assert isinstance(asked(talk, 1, {}), Reply)
        else:
            assert isinstance(talk.send("east", talk.close()), Reply)
            assert asked(talk, 1, {}) is Refusal.RUN_OVER
        if not killed:
            break
    assert step > 3


# --- the table


@pytest.fixture
def filed(tmp_path):
    """A run whose first site has its table in a file."""
    made = make(tmp_path, parts_of(X, 3))
    path = tmp_path / "rows.npy"
    np.save(path, TABLE)
    site = made.sites["east"]
    (site.folder / "site.json").unlink()
    replace(site.policy, table=str(path)).write(site.folder / "site.json")
    made.sites["east"] = Site(site.folder)
    talk = Talk(made)
    talk.hello()
    return talk, path


def swapped(path):
    """Two people change places, in place."""
    rows = np.load(path, mmap_mode="r+")
    rows[[0, 1]] = rows[[1, 0]]
    rows.flush()


def shorter(path):
    os.truncate(path, 200)


def replaced(path):
    np.save(path.with_name("new.npy"), TABLE[1:])
    os.replace(path.with_name("new.npy"), path)


@pytest.mark.parametrize("change", [swapped, shorter, replaced, os.unlink])
def test_a_table_that_is_written_to_in_a_run_is_kept_until_a_restart_and_then_refused(
    filed, change
):
    talk, path = filed
    change(path)
    vector(asked(talk, 1, {}))
    np.testing.assert_array_equal(talk.made.sites["east"].table.records.rows.X, TABLE)
    talk.made.sites["east"] = Site(talk.made.folder / "east")
    assert asked(talk, 2, {}) is Refusal.TABLE
    assert len(talk.made.receipts("east")) == 1


def test_a_table_that_was_written_to_between_two_runs_is_read_after_a_restart(filed):
    talk, path = filed
    talk.send("east", talk.close())
    replaced(path)
    talk.made.sites["east"] = Site(talk.made.folder / "east")
    later = Talk(talk.made)
    later.hello()
    vector(asked(later, 1, {}))
    np.testing.assert_array_equal(talk.made.sites["east"].table.records.rows.X, TABLE[1:])


@pytest.mark.parametrize("kind", ["mapped", "a view", "sparse"])
def test_a_table_that_a_reader_has_mapped_is_read_into_memory(tmp_path, kind):
    np.save(tmp_path / "rows.npy", X)
    rows = np.load(tmp_path / "rows.npy", mmap_mode="r")
    if kind == "a view":
        rows = np.asarray(rows)[:, ::2]
    if kind == "sparse":
        mapped, rows = rows, sparse.csr_array(X)
        rows.data = np.asarray(mapped).ravel()
    study = Study("study", {"east": "ab" * 32}, rows.shape[1], sparse=kind == "sparse")
    table = SiteTable(study, rows, None)
    before = table.fingerprint
    swapped(tmp_path / "rows.npy")
    del table.fingerprint
    assert table.fingerprint == before


@pytest.mark.parametrize("name", ["the ledger alone", "all but the runs", "cp over it"])
@pytest.mark.parametrize("end", ["closed", "deleted", None])
def test_a_ledger_that_was_put_back_pays_for_no_other_run(talk, end, name):
    backed_up(talk.made.folder / "east")
    assert isinstance(talk.ask(), Reply)
    if end == "closed":
        assert isinstance(talk.send("east", talk.close()), Reply)
    if end == "deleted":
        (talk.made.folder / "east" / "runs" / f"{talk.plan.run}.json").unlink()
    put_back(talk.made, name)
    talk.made.restarted("east")
    other = Talk(talk.made)
    assert other.send("east", other.plan) is Refusal.LEDGER
    assert not talk.made.receipts("east")


def test_an_end_is_not_confirmed_by_a_ledger_without_the_charges(talk):
    backed_up(talk.made.folder / "east")
    assert isinstance(talk.ask(), Reply)
    put_back(talk.made, "the ledger alone")
    talk.made.restarted("east")
    assert talk.send("east", talk.close("0" * 64)) is Refusal.LEDGER


def test_with_the_ledger_itself_back_all_goes_on(talk):
    assert isinstance(talk.ask(), Reply)
    backed_up(talk.made.folder / "east")
    (talk.made.folder / "east" / "study.ledger").unlink()
    put_back(talk.made, "the ledger alone")
    talk.made.restarted("east")
    other = Talk(talk.made)
    assert isinstance(other.send("east", other.plan), Reply)
    assert isinstance(talk.send("east", talk.close("0" * 64)), Reply)


def test_a_ledger_that_lacks_a_charge_of_no_run_is_refused_if_the_site_has_seen_it(talk):
    backed_up(talk.made.folder / "east")
    talk.made.sites["east"].ledger.charge_external(
        "elsewhere", epsilon=1.0, delta=0.0, adjacency="add-remove"
    )
    assert isinstance(talk.send("east", talk.close()), Reply)
    put_back(talk.made, "the ledger alone")
    talk.made.restarted("east")
    other = Talk(talk.made)
    assert other.send("east", other.plan) is Refusal.LEDGER


def enlarged(talk, label):
    """Another ledger in the place of the site's, charged for its sum; the first one."""
    file = talk.made.folder / "east" / "study.ledger"
    old = talk.made.sites["east"].ledger.statement()
    first = file.rename(file.with_name("first.ledger"))
    new = PrivacyLedger.create(file, 200.0, 1e-5)
    new.charge_external(label.format(old.chain.terms.accountant[:16]), mu=0.1)
    talk.made.restarted("east")
    return first


@pytest.mark.parametrize("label", ["all of {}, head 425a63b9", "all of the old one"])
def test_a_ledger_takes_the_place_of_one_that_a_charge_of_it_names(talk, label):
    assert isinstance(talk.ask(mu=0.1), Reply)
    assert isinstance(talk.send("east", talk.close()), Reply)
    first = enlarged(talk, label)
    others = Talk(talk.made), Talk(talk.made)
    named = isinstance(others[0].send("east", others[0].plan), Reply)
    assert named == ("{}" in label)
    first.replace(talk.made.folder / "east" / "study.ledger")
    talk.made.restarted("east")
    assert (others[1].send("east", others[1].plan) is Refusal.LEDGER) == named


def test_a_run_goes_on_and_is_charged_to_the_ledger_that_takes_the_place_of_its_first(talk):
    seen = {}
    assert isinstance(asked(talk, 1, seen), Reply)
    enlarged(talk, "all of {}")
    for round in (1, 2):  # the new ledger cannot know that the first question was charged
        assert isinstance(asked(talk, round, seen), Reply)
    assert len(talk.made.receipts("east")) == 3


def test_a_file_of_somebody_else_among_the_runs_is_no_run(talk):
    (talk.made.folder / "east" / "runs" / f"._{talk.plan.run}.json").write_bytes(b"\0\5\26\7")
    assert isinstance(talk.ask(), Reply)


def test_a_charge_of_another_process_meanwhile_is_no_charge_that_is_lost(talk, monkeypatch):
    east, other = talk.made.sites["east"], Talk(talk.made)
    other.hello()
    twin = Site(east.folder, east._read)
    statement = east.ledger.statement

    def late():
        found = statement()
        monkeypatch.undo()
        monkeypatch.setitem(talk.made.sites, "east", twin)
        assert isinstance(other.ask(), Reply)
        return found

    monkeypatch.setattr(east.ledger, "statement", late)
    assert isinstance(talk.ask(), Reply)
    assert len(east.ledger.receipts) == 2
