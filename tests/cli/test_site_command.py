import os
import re
import stat

import numpy as np
import pytest
from msgspec.structs import replace

pytest.importorskip("cryptography")

from skdppca import PrivacyLedger
from skdppca.federated import Identity, Policy, Study

from .conftest import NAMES, assert_refused

SITES = ("north", "south", "west")


@pytest.fixture
def study(run, tmp_path, table):
    """Three sites of the same table that are not set up yet; the study and the analyst's key."""
    keys = {}
    for name in SITES:
        said = run("site", "key", tmp_path / name)
        keys[name] = re.search("study: ([0-9a-f]{64})\n", said.out)[1]
    study = Study("test", sites=keys, columns=("weight", "age"), max_rows=1000)
    study.write(tmp_path / "study.json")
    return study, Identity.create(tmp_path / "analyst.key")


@pytest.fixture
def init(run, tmp_path, table, study):
    """Set up a site; options may be replaced or left out (None)."""

    def command(folder="north", /, **changed):
        ledger = tmp_path / f"{folder}.ledger"
        if not ledger.exists():
            PrivacyLedger.create(ledger, 2.0, 1e-6)
        options = {
            "study": tmp_path / "study.json",
            "table": table,
            "analyst": study[1].public,
            "ledger": ledger,
        } | changed
        pairs = [(f"--{key.replace('_', '-')}", value) for key, value in options.items()]
        given = [text for pair in pairs if pair[1] is not None for text in pair if text != ""]
        return run("site", "init", tmp_path / folder, *given)

    return command


def test_keys_are_made_for_their_owner_alone_and_never_again(run, tmp_path):
    made = run("site", "key", tmp_path / "north")
    assert made.status == 0 and Identity.read(tmp_path / "north/identity.key").public in made.out
    for name in ("identity.key", "supernode.key"):
        assert stat.S_IMODE(os.stat(tmp_path / "north" / name).st_mode) == 0o600
    before = (tmp_path / "north/identity.key").read_bytes()
    assert_refused(run("site", "key", tmp_path / "north"), "a key is never replaced")
    assert (tmp_path / "north/identity.key").read_bytes() == before


def test_a_new_site_has_its_policy(init, study, tmp_path, table):
    result = init(max_epsilon=1, min_sites=2, statistics="Count")
    assert result.status == 0, result.err
    policy = Policy.read(tmp_path / "north/site.json")
    assert policy == Policy(
        study=study[0],
        analysts=(study[1].public,),
        table=str(table),
        max_epsilon=1.0,
        max_delta=1e-6,
        ledger=str(tmp_path / "north.ledger"),
        statistics=("Count",),
        min_sites=2,
    )
    assert "north takes part in the study test, with south, west." in result.out


def test_the_ledger_limits_the_runs(init, ledger, tmp_path):
    assert init(ledger=ledger).status == 0
    policy = Policy.read(tmp_path / "north/site.json")
    assert (policy.ledger, policy.max_epsilon) == (str(ledger), 2.0)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"analyst": "abc"}, "analysts=('abc',) is not valid"),
        ({"min_sites": 1}, "--min-sites 1 is not valid"),
        ({"statistics": "Rows"}, "is not valid; choose of"),
        ({"groups": "age"}, "--groups age is not valid; give it exactly if"),
        *(({option: "/missing"}, "/missing") for option in ("study", "table", "ledger")),
    ],
)
def test_what_cannot_be_agreed_to_is_refused_and_nothing_is_left(init, tmp_path, changed, said):
    assert_refused(init(**changed), said)
    assert not (tmp_path / "north/site.json").exists()


def test_a_folder_without_keys_says_how_to_make_them(init, tmp_path):
    result = init("east")
    assert_refused(result, f"make it first: skdppca site key {tmp_path / 'east'}")


def test_a_site_that_is_set_up_is_not_replaced(init, tmp_path):
    assert init().status == 0
    before = (tmp_path / "north/site.json").read_bytes()
    assert_refused(init(max_epsilon=1), "exists already")
    assert (tmp_path / "north/site.json").read_bytes() == before


def test_a_table_without_a_column_of_the_study_is_refused(init, tmp_path):
    (tmp_path / "other.csv").write_text("age,height\n1,2\n3,4\n")
    assert_refused(init(table=tmp_path / "other.csv"), "weight")
    assert not (tmp_path / "north/site.json").exists()


def test_a_site_reads_the_columns_of_the_study_in_its_order(table, rows):
    from skdppca.cli._site_command import _rows

    X, labels = _rows(False, str(table), ("weight", "age"), None)
    assert labels is None
    assert np.array_equal(X, rows[:, [NAMES.index("weight"), NAMES.index("age")]])


def test_a_folder_that_is_no_site_says_how_to_make_one(run, tmp_path):
    assert_refused(run("site", "show", tmp_path), f"skdppca site init {tmp_path}")


@pytest.mark.parametrize(
    ("server", "roots", "said"),
    [
        ("study.example.org", None, "--server study.example.org is no HOST:PORT"),
        ("127.0.0.1:1", "missing", "missing"),
    ],
)
def test_what_a_site_cannot_connect_by_is_said_at_once(
    run, init, tmp_path, monkeypatch, server, roots, said
):
    pytest.importorskip("flwr")
    assert init().status == 0
    monkeypatch.chdir(tmp_path)
    more = [] if roots is None else ["--root-certificates", roots]
    assert_refused(run("site", "run", "north", "--server", server, *more), said)


def test_a_folder_whose_key_the_study_lacks_is_not_set_up(init, study, tmp_path):
    replace(study[0], sites=study[0].sites | {"north": "ab" * 32}).write(tmp_path / "other.json")
    result = init(study=tmp_path / "other.json")
    assert_refused(result, "no site of the study has the public key")
    assert not (tmp_path / "north/site.json").exists()


def test_a_site_that_would_refuse_every_plan_is_not_set_up(init, study, tmp_path):
    keys = dict([*study[0].sites.items()][:2])
    replace(study[0], sites=keys).write(tmp_path / "two.json")
    assert_refused(init(study=tmp_path / "two.json"), "the study has 2 sites")
    assert init(study=tmp_path / "two.json", min_sites=2).status == 0


def test_missing_values_are_declared_in_the_study(init, study, tmp_path):
    np.save(tmp_path / "t.npy", [[1.0, np.nan], [2.0, 3.0]])
    assert_refused(init(table=tmp_path / "t.npy"), "NaN")
    replace(study[0], missing="mean").write(tmp_path / "filled.json")
    assert init(table=tmp_path / "t.npy", study=tmp_path / "filled.json").status == 0


def test_of_many_columns_the_first_are_printed(init, study, tmp_path):
    names = tuple(f"rs{i}" for i in range(30))
    replace(study[0], columns=names).write(tmp_path / "wide.json")
    np.save(tmp_path / "t.npy", np.ones((2, 30)))
    result = init(table=tmp_path / "t.npy", study=tmp_path / "wide.json")
    assert "'rs7' and 22 more; a record is a row" in result.out
