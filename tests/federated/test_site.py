"""What a site answers, what it refuses, and what is charged: whatever happens in between."""

import os
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from msgspec.structs import replace
from scipy import sparse

pytest.importorskip("cryptography")

from skdppca import PrivacyLedger
from skdppca.federated import Identity, Policy, Refusal, Site, Study
from skdppca.federated import site as site_module
from skdppca.federated.messages import Refused, key_text
from skdppca.federated.site_table import SiteTable, read_arrays
from skdppca.federated.transport import Reply
from skdppca.out_of_core.pieces import Question
from skdppca.privacy import GaussianEvent, mu_of
from skdppca.records.machine import memory_limit
from skdppca.statistics import Count, ResidualNorms, ResidualSum, Scores

from .local_sites import SUM, Talk, X, make, new_key, parts_of, runs_of


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """A run for tests that change nothing."""
    talk = Talk(make(tmp_path_factory.mktemp("study"), parts_of(X, 3), budget=(20.0, 1e-6)))
    talk.hello()
    return talk


# --- the plan


# Facts of a study, and the refusal.
STUDIES = [
    ({"name": "other"}, Refusal.STUDY),
    ({"columns": 5}, Refusal.STUDY),
    ({"columns": tuple("abcd")}, Refusal.STUDY),
    ({"unit": "patient"}, Refusal.STUDY),
    ({"sparse": True}, Refusal.STUDY),
    ({"missing": "mean"}, Refusal.STUDY),
    ({"max_rows": 10}, Refusal.STUDY),
    ({"max_sites_per_person": 2}, Refusal.STUDY),
    ({"sites": {"north": "ab" * 32}}, Refusal.ROSTER),  # its key changed
    ({"sites": {"other": "ab" * 32}}, Refusal.ROSTER),
]
PLANS = [
    *(({"study": facts}, refusal) for facts, refusal in STUDIES),
    ({"epsilon": 61.0}, Refusal.LIMITS),
    ({"delta": 1e-4}, Refusal.LIMITS),
    ({"epsilon": 50.0}, Refusal.BUDGET),  # more than the ledger has
    ({"statistics": ("Histogram",)}, Refusal.STATISTIC),
]


@pytest.mark.parametrize(("changes", "expected"), PLANS)
def test_a_plan_that_the_site_does_not_agree_to_is_refused(asked, changes, expected):
    made = asked.made
    facts = changes.get("study", {})
    if "sites" in facts:
        facts = {"sites": made.study.sites | facts["sites"]}
    talk = Talk(made, **changes | {"study": replace(made.study, **facts)})
    assert talk.send("east", talk.plan) is expected
    assert not made.receipts("east")
    assert talk.plan.run not in runs_of(made.sites["east"])


# A policy, changes of the plan (sites of seven, of which two may collude by default), a site, and
# the refusal.
ONLY_COUNT = frozenset({"Count"})
SOME = [
    ({"min_sites": 4}, {"sites": 3}, "site00", Refusal.FEW_SITES),
    ({}, {"sites": 3}, "site00", None),
    ({}, {"sites": 3}, "site03", Refusal.ROSTER),
    ({}, {"max_colluders": 1}, "site00", Refusal.STUDY),
    ({}, {"max_colluders": 2}, "site00", None),
    ({}, {"max_colluders": 3}, "site00", None),
    ({"statistics": ONLY_COUNT}, {}, "site00", Refusal.STATISTIC),
    ({"statistics": ONLY_COUNT}, {"statistics": ONLY_COUNT}, "site00", None),
]


@pytest.mark.parametrize(("policy", "changes", "name", "expected"), SOME)
def test_a_site_agrees_to_a_plan_by_its_policy(tmp_path, policy, changes, name, expected):
    made, facts = make(tmp_path, parts_of(X, 7), **policy), dict(changes)
    of_plan = {key: facts.pop(key) for key in ("statistics",) if key in facts}
    if "sites" in facts:
        facts["sites"] = dict([*made.study.sites.items()][: facts["sites"]])
    talk = Talk(made, study=replace(made.study, **facts), **of_plan)
    reply = talk.send(name, talk.plan)
    assert isinstance(reply, Reply) if expected is None else reply is expected
    assert talk.plan.honest == len(talk.plan.study.sites) - talk.plan.study.max_colluders


@pytest.mark.parametrize(("known", "expected"), [(True, Refusal.RUN), (False, Refusal.ANALYST)])
def test_a_run_belongs_to_the_analyst_who_began_it(made, talk, tmp_path, known, expected):
    other, site = Identity.create(tmp_path / "other.key"), made.sites["east"]
    if known:
        site.policy = replace(site.policy, analysts=(made.analyst.public, other.public))
    for message, arrays in ((talk.plan, {}), talk.request(SUM), (talk.close(), {})):
        assert talk.send("east", message, arrays, signer=other) is expected
    assert not made.receipts("east")


@pytest.mark.parametrize(("m", "colluders"), [(2, 1), (3, 1), (5, 1), (6, 2), (20, 6)])
def test_a_study_assumes_that_a_third_of_the_sites_collude(m, colluders):
    sites = {f"site{i}": f"{i:02x}" * 32 for i in range(m)}
    study = Study("study", sites, columns=4)
    assert study.max_colluders == colluders
    assert Study("study", sites, columns=4, max_colluders=m - 1).max_colluders == m - 1
    for wrong in (0, m, 1.0, True):
        with pytest.raises(ValueError, match=r"max_colluders=.* is not valid"):
            Study("study", sites, columns=4, max_colluders=wrong)


def test_hello_says_the_same_again(made, talk):
    first = talk.send("east", talk.plan)
    made.restarted("east")
    assert talk.send("east", talk.plan).fields == first.fields
    assert not made.receipts("east")


def test_a_run_id_is_used_once(made, talk):
    again = Talk(made, run=talk.plan.run, epsilon=4.0)
    assert again.send("east", again.plan) is Refusal.RUN
    talk.send("east", talk.close())
    assert talk.send("east", talk.plan) is Refusal.RUN_OVER
    assert again.send("east", again.plan) is Refusal.RUN


# --- questions


def wrong_key(talk, site):
    return talk.keys | {site: (new_key().public, talk.keys[site][1])}


def signed(talk, site, key):
    """Another key, which its site has signed for this plan."""
    signature = talk.made.sites[site].identity.sign(key_text(talk.plan.digest, site, key))
    return talk.keys | {site: (key, signature)}


def old_key(talk):
    """East's key of another run of the same study, with its signature."""
    other = Talk(talk.made)
    other.hello()
    return talk.keys | {"east": other.keys["east"]}


REQUESTS = {
    "another run": (lambda t: {"run": "ab" * 16}, Refusal.RUN),
    "another plan": (lambda t: {"plan": "ab" * 32}, Refusal.RUN),
    "a later round": (lambda t: {"round": 2}, Refusal.ROUND),
    "fewer sites": (
        lambda t: {"keys": {k: v for k, v in t.keys.items() if k != "north"}},
        Refusal.KEYS,
    ),
    "another site's key": (lambda t: {"keys": wrong_key(t, "north")}, Refusal.KEYS),
    "another key of its own": (lambda t: {"keys": wrong_key(t, "east")}, Refusal.KEYS),
    "swapped keys": (
        lambda t: {"keys": t.keys | {"north": t.keys["south"], "south": t.keys["north"]}},
        Refusal.KEYS,
    ),
    "a key of another run": (lambda t: {"keys": old_key(t)}, Refusal.KEYS),
    "a key it had before": (lambda t: {"keys": signed(t, "east", new_key().public)}, Refusal.KEYS),
    "a key of low order": (lambda t: {"keys": signed(t, "north", "00" * 32)}, Refusal.KEYS),
    "other arrays": (lambda t: {"inputs": {"a0": "ab" * 32}}, Refusal.INPUTS),
    "no arrays": (lambda t: {"inputs": {}}, Refusal.INPUTS),
    "little noise": (lambda t: {"noise_sd": 2.0}, Refusal.NOISE),
    "much noise": (lambda t: {"noise_sd": 1e12}, Refusal.NOISE),
    "a fine grid": (lambda t: {"grid_log2": -60, "noise_sd": 2.0**33}, Refusal.NOISE),
    "a dear question": (lambda t: {"noise_sd": 1e8}, Refusal.BEYOND_PLAN),
}


@pytest.mark.parametrize("case", REQUESTS)
def test_a_changed_question_is_refused_and_not_charged(asked, case):
    change, expected = REQUESTS[case]
    assert asked.ask(**change(asked)) is expected
    assert not asked.made.receipts("east")


def test_a_refused_question_leaves_its_round_open(made, talk):
    assert talk.ask(keys=wrong_key(talk, "north")) is Refusal.KEYS
    assert isinstance(talk.ask(), Reply)


def test_arrays_that_were_changed_on_the_way_are_refused(asked):
    request, arrays = asked.request(SUM)
    others = ({"a0": arrays["a0"] + 1e-300}, {}, arrays | {"a1": arrays["a0"]})
    for changed in (*others, {"a0": np.array(["x"])}, arrays | {"a1": np.zeros(4, np.float32)}):
        assert asked.send("east", request, changed) is Refusal.INPUTS
    assert not asked.made.receipts("east")


MESSAGES = [
    b"",
    b"{}",
    b"[]",
    b"null",
    b'{"protocol":"skdppca-sum/1"}',
    b"\xff",
    b"{" * 100_000,
    b"[" * 100_000,
    b'{"a":1}' * 2,
    b'{"a":NaN}',
    b'{"a":1e999}',
    b'{"a":1,"a":1}',
    b"1" * 6000,
]


def test_what_is_no_message_is_refused(asked):
    made, plan = asked.made, asked.plan.body
    site = made.sites["east"]
    others = [plan.replace(b"sum/1", b"sum/2"), plan.replace(b'"hello"', b'"read"')]
    assert plan not in others
    for body in (*MESSAGES, *others):
        reply = site.respond(body, made.analyst.sign(body), {})
        assert reply.refused is Refusal.MALFORMED and reply.vector is None
    assert not (site.folder / "errors.log").exists()


# --- rounds and charges


def test_every_question_is_charged_once_and_answered_with_the_same_bytes(made, talk):
    first = talk.ask()
    made.restarted("east")
    again = talk.ask()
    assert again.fields == first.fields
    np.testing.assert_array_equal(again.vector, first.vector)
    (receipt,) = made.receipts("east")
    begun, seal = receipt.label.rsplit("/", 1)
    assert begun == f"{talk.plan.run}/1/{first.fields['request']}" and len(seal) == 32
    assert receipt.event.mu == float.fromhex(first.fields["mu"]) == pytest.approx(0.1)


def test_a_round_is_asked_in_one_way(made, talk):
    talk.ask()
    sd = talk.request(SUM)[0].noise_sd
    for changes in ({"mu": 0.2}, {"noise_sd": float(np.nextafter(sd, 1e99))}):
        assert talk.ask(**changes) is Refusal.ROUND
    assert len(made.receipts("east")) == 1


def test_rounds_follow_each_other(made, talk):
    talk.ask()
    assert talk.ask(round=3) is Refusal.ROUND
    assert isinstance(talk.ask(round=2), Reply)
    made.restarted("east")
    assert isinstance(talk.ask(), Reply)  # computed again
    assert len(made.receipts("east")) == 2


def test_a_run_stops_at_its_plan_and_then_at_the_ledger(tmp_path):
    made = make(tmp_path, parts_of(X, 3), budget=(6.0, 1e-6))
    talk = Talk(made)  # epsilon 5
    talk.hello()
    whole = mu_of(5.0, 1e-6)
    assert isinstance(talk.ask(mu=0.8 * whole), Reply)
    assert talk.ask(mu=0.61 * whole, round=2) is Refusal.BEYOND_PLAN
    assert isinstance(talk.ask(mu=0.6 * whole * (1 - 1e-12), round=2), Reply)
    spent = made.sites["east"].ledger.spent
    assert spent.epsilon == pytest.approx(5.0) and spent.epsilon <= 5.0
    # what is left does not pay for another whole run, so none begins
    later = Talk(made)
    assert later.send("east", later.plan) is Refusal.BUDGET


def test_runs_at_the_same_time_share_a_ledger_and_never_exceed_it(tmp_path):
    made = make(tmp_path, parts_of(X, 3), budget=(6.0, 1e-6))
    first, second = Talk(made), Talk(made)  # each can be afforded, but not both
    first.hello()
    second.hello()
    for talk, paid in ((first, True), (second, False)):
        reply = talk.ask(mu=0.9 * mu_of(5.0, 1e-6))
        assert isinstance(reply, Reply) if paid else reply is Refusal.BUDGET
    assert len(made.receipts("east")) == 1


@pytest.mark.parametrize("was_charged", [True, False])
def test_a_run_whose_files_a_person_has_deleted_is_not_asked_again(made, talk, was_charged):
    folder = made.sites["east"].folder
    if was_charged:
        talk.ask()
    for file in folder.glob(f"runs/{talk.plan.run}*"):
        file.unlink()
    made.restarted("east")
    assert talk.ask(round=2) is Refusal.RUN
    if was_charged:
        assert talk.send("east", talk.plan) is Refusal.RUN


# --- a site that is cut off


def test_a_charge_is_on_the_disk_before_its_answer(made, talk, monkeypatch):
    synced = []
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("files of this process are not listed here")
    monkeypatch.setattr(
        os, "fsync", lambda file: synced.append(os.readlink(f"/proc/self/fd/{file}"))
    )
    share = site_module.SharedQuery.share

    def late(*arguments):
        before = iter(synced)
        for name in ("study.ledger", ".head.", f"runs/{talk.plan.run}.json"):
            assert any(name in path for path in before)
        return share(*arguments)

    monkeypatch.setattr(site_module.SharedQuery, "share", late)
    assert isinstance(talk.ask(), Reply)


def test_another_ledger_in_the_place_of_the_first_is_refused(made, talk, tmp_path):
    talk.ask()
    other = PrivacyLedger.create(tmp_path / "other.ledger", 5.0, 1e-6)
    other.charge(GaussianEvent(0.1), adjacency="add-remove", unit="row")
    ledger = made.sites["east"].folder / "study.ledger"
    ledger.write_bytes((tmp_path / "other.ledger").read_bytes())
    made.restarted("east")
    assert talk.ask(round=2) is Refusal.LEDGER


# --- the end of a run


@pytest.mark.parametrize("release", ["cd" * 32, None])  # None: the run has failed
def test_close_forgets_the_secrets_and_records_the_release(made, talk, release):
    east = made.sites["east"]
    for round in (1, 2):
        talk.ask(round=round)
    secret = east._runs.find(talk.plan.run).secret
    cut_short = east.folder / "runs" / f"{talk.plan.run}.json.0badcafe.part"
    cut_short.write_text(secret)
    reply = talk.send("east", talk.close(release))
    assert isinstance(reply, Reply) and reply.vector is None
    kept = b"".join(path.read_bytes() for path in east.folder.rglob("*") if path.is_file())
    assert secret.encode() not in kept
    recorded = 0 if release is None else 2
    assert [row.release for row in east.ledger.releases] == [release] * recorded
    assert len(east.ledger.unrecorded) == 2 - recorded
    assert talk.send("east", talk.close(release)).fields == reply.fields
    assert talk.ask(round=3) is Refusal.RUN_OVER


# --- nothing leaves


def dies_with_data(*_):
    raise ValueError("patient 4711 is infinite")


def test_whatever_is_raised_within_only_its_code_leaves(made, talk, monkeypatch):
    def fails(*_):
        raise RuntimeError("a value of a patient: swordfish")

    monkeypatch.setattr(site_module.SharedQuery, "share", fails)
    assert talk.ask() is Refusal.INTERNAL
    folder = made.sites["east"].folder
    assert "swordfish" in (folder / "errors.log").read_text()  # which stays at the site
    for name in ("errors.log", "identity.key", "noise.key"):
        assert (folder / name).stat().st_mode & 0o077 == 0
    monkeypatch.setattr(site_module.SharedQuery, "share", dies_with_data)
    assert talk.ask() is Refusal.INTERNAL
    assert "swordfish" not in (folder / "errors.log").read_text()  # the last error alone is kept


@pytest.mark.parametrize(
    "read",
    [
        dies_with_data,
        *(
            lambda *_, rows=rows: (rows, None)
            for rows in (
                X[:20, :3],
                X[:20] * np.nan,
                X[:0, :3],
                X[:21],  # more than max_rows
                X[:20].astype(str),
                X[0].tolist(),
            )
        ),
    ],
)
def test_a_table_that_is_not_the_studys_is_refused_before_any_charge(tmp_path, read):
    made = make(tmp_path, parts_of(X, 3), max_rows=20)
    site, talk = made.sites["east"], Talk(made)
    site._read = read
    assert talk.send("east", talk.plan) is Refusal.TABLE
    assert not made.receipts("east")
    with pytest.raises((ValueError, TypeError)):
        site.table  # noqa: B018


def test_how_many_rows_a_site_has_changes_no_public_word(tmp_path):
    found = []
    for n in (0, 1, 20):
        (tmp_path / str(n)).mkdir()
        talk = Talk(make(tmp_path / str(n), [(X[:n], None), (X[20:40], None), (X[40:], None)]))
        talk.hello()
        reply = talk.ask()
        found.append((sorted(reply.fields), reply.fields["mu"], reply.vector.shape))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize(
    "asked",
    [
        {"statistic": Count(), "steps": [Scores(np.eye(120), np.zeros(120))] * 2},
        {
            "statistic": ResidualSum(
                ResidualNorms(np.zeros(120), None, np.eye(120), np.zeros((120, 120))), 1.0
            )
        },
    ],
)
def test_what_is_too_much_for_the_declared_rows_is_refused_however_many_there_are(tmp_path, asked):
    made = make(tmp_path, [(np.ones((5, 120)), None)] * 2, max_rows=2**23)
    talk = Talk(made)
    talk.hello()
    made.sites["east"].table.fingerprint  # noqa: B018
    with little_memory(2**30):  # 8 GB would be needed, for 5 rows 10 kB are
        assert talk.ask(**asked) is Refusal.MEMORY
    assert not made.receipts("east")
    assert isinstance(talk.ask(Count()), Reply)


def test_whether_an_answer_could_be_held_says_nothing_of_the_table(made):
    site = made.sites["east"]
    with little_memory(2**30):
        query = SimpleNamespace(drawn=int(0.9 * memory_limit()) // (8 * 8))
        site._check_room(Question((), Count()), query)  # although much of the memory is taken
        query.drawn = int(1.1 * memory_limit()) // (8 * 8)
        with pytest.raises(Refused):
            site._check_room(Question((), Count()), query)


@contextmanager
def little_memory(more):
    """Limit memory to `more` bytes above what is used now."""
    resource = pytest.importorskip("resource")
    if not os.path.exists("/proc/self/statm"):
        pytest.skip("memory is not limited like this here")
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + more, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


# --- tables in files


@pytest.mark.parametrize("name", ["table.npy", "table.npz"])
def test_a_table_is_read_from_a_file_of_arrays(tmp_path, name):
    rows, groups = sparse.csr_array(X), np.arange(60) // 3
    if name.endswith("npz"):
        sparse.save_npz(tmp_path / name, rows)
    else:
        np.save(tmp_path / name, X)
    np.save(tmp_path / "groups.npy", groups)
    found, labels = read_arrays(str(tmp_path / name), 4, str(tmp_path / "groups.npy"))
    np.testing.assert_array_equal(found.toarray() if name.endswith("npz") else found, X)
    np.testing.assert_array_equal(labels, groups)
    with pytest.raises(ValueError, match="pass a reader"):
        read_arrays("table.csv", 4, None)
    for missing in ((tmp_path / "no.npy", None), (tmp_path / name, str(tmp_path / "no.npy"))):
        with pytest.raises(FileNotFoundError, match=r"no\.npy"):
            read_arrays(str(missing[0]), 4, missing[1])


def test_a_fingerprint_is_of_every_number():
    study = Study("study", {"east": "ab" * 32}, columns=4)
    some = Study("study", {"east": "ab" * 32}, columns=4, sparse=True)
    groups = Study("study", {"east": "ab" * 32}, columns=4, unit="patient")
    moved = X + 0.0
    moved[59, 3] += 1e-9
    marks = [SiteTable(study, rows, None).fingerprint for rows in (X, X.copy(), moved, X[:59])]
    marks += [SiteTable(some, sparse.csr_array(rows), None).fingerprint for rows in (X, moved)]
    numbers = np.arange(60)
    marks += [SiteTable(groups, X, labels).fingerprint for labels in (numbers, numbers // 2)]
    assert marks[0] == marks[1] and len(set(marks)) == len(marks) - 1


@pytest.mark.parametrize("n", [2, 0])
def test_columns_with_names_are_the_studys(n):
    study = Study("study", {"east": "ab" * 32}, columns=("a", "b"))
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})[:n]
    SiteTable(study, frame, None)
    for other in (frame[["b", "a"]], frame.rename(columns={"a": "c"}), frame[["a"]]):
        with pytest.raises(ValueError, match="not those of the study"):
            SiteTable(study, other, None)


# --- a site's own people


def test_a_site_needs_its_key_and_its_ledger(tmp_path, made):
    folder = made.sites["east"].folder
    ledger = PrivacyLedger.create(tmp_path / "other.ledger", 1.0, 1e-6, unit="patient")
    policy = made.sites["east"].policy
    (folder / "site.json").unlink()
    replace(policy, ledger=ledger.path).write(folder / "site.json")
    with pytest.raises(ValueError, match="make another ledger"):
        Site(folder)
    (folder / "site.json").unlink()
    others = policy.study.sites | {"east": "ab" * 32}
    replace(policy, study=replace(policy.study, sites=others)).write(folder / "site.json")
    with pytest.raises(ValueError, match="correct the study at all sites"):
        Site(folder)


def test_a_site_that_has_another_name_since_a_run_began_refuses_its_questions(made, talk):
    policy = made.sites["east"].policy
    file = made.sites["east"].folder / "site.json"
    file.unlink()
    sites = {"EAST" if name == "east" else name: key for name, key in policy.study.sites.items()}
    replace(policy, study=replace(policy.study, sites=sites)).write(file)
    request, arrays = talk.request(SUM)
    site = made.restarted("east")
    reply = site.respond(request.body, made.analyst.sign(request.body), arrays)
    assert reply.refused is Refusal.ROSTER


@pytest.mark.parametrize("name", ["identity.key", "noise.key"])
def test_a_secret_that_others_can_read_is_refused(made, name):
    folder = made.sites["east"].folder
    (folder / name).chmod(0o644)
    with pytest.raises(PermissionError, match=rf"chmod 600 .*{name}"):
        Site(folder)


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
def test_a_run_whose_keys_others_can_read_goes_on_once_they_cannot(made, talk):
    file = made.sites["east"].folder / "runs" / f"{talk.plan.run}.json"
    file.chmod(0o644)
    assert talk.ask() is Refusal.INTERNAL
    assert "chmod 600" in (file.parents[1] / "errors.log").read_text()
    file.chmod(0o600)
    assert isinstance(talk.ask(), Reply)


def test_a_site_is_prepared_once(made):
    with pytest.raises(FileExistsError, match="never replaced"):
        Site.prepare(made.sites["east"].folder)


@pytest.mark.parametrize(
    "change",
    [
        {"analysts": ("ab",)},
        {"max_epsilon": float("inf")},
        {"max_delta": 0.0},
        {"min_sites": 1},
        {"min_sites": 4},
        {"statistics": ("KendallMatrix",)},
        {"groups": "patient"},
        {"table": ""},
    ],
)
def test_a_policy_that_promises_nothing_is_refused(asked, change):
    with pytest.raises(ValueError, match="is not valid"):
        replace(asked.made.sites["east"].policy, **change)


@pytest.mark.parametrize("kind", [Study, Policy, Identity])
def test_a_file_that_is_missing_is_named_with_a_remedy(tmp_path, kind):
    with pytest.raises(FileNotFoundError, match="missing"):
        kind.read(tmp_path / "missing")


@pytest.mark.parametrize("kind", [Study, Policy])
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("ab12", "; check that it is the file"),
        ('{"name": "a", "age": 3}', "unknown field"),
        ("NaN", "invalid character"),
    ],
)
def test_a_file_that_is_no_json_of_ours_is_said_to_be_none(tmp_path, kind, text, says):
    (tmp_path / "odd.json").write_text(text)
    with pytest.raises(ValueError, match=rf"odd\.json: .*{says}"):
        kind.read(tmp_path / "odd.json")


def test_a_policy_and_a_study_are_read_as_they_were_written_and_never_replaced(asked, tmp_path):
    for written in (asked.made.study, asked.made.sites["east"].policy):
        path = tmp_path / f"{type(written).__name__}.json"
        written.write(path)
        before = path.read_bytes()
        with pytest.raises(FileExistsError, match=rf"{path.name}: exists already, .* keep it"):
            written.write(path)
        assert path.read_bytes() == before and type(written).read(path) == written
