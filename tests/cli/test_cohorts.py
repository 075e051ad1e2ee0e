"""Cohorts in a shell."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse

from skdppca.privacy import PrivacyLedger


@pytest.fixture
def ledger(run, tmp_path):
    run("ledger", "create", path := tmp_path / "l", "--epsilon", 2, "--delta", 1e-6)
    return path


@pytest.fixture
def table(tmp_path):
    rows = np.random.default_rng(0).normal(size=(300, 3))
    np.savetxt(tmp_path / "t.csv", rows, delimiter=",", header="a,b,c", comments="")
    return tmp_path / "t.csv"


def fit(run, table, out, *options):
    cost = ("--epsilon", 1, "--delta", 1e-6, "-k", 2, "--no-pictures")
    return run("fit", table, *cost, "--out", out, *options)


def test_a_fit_charges_the_cohorts_that_it_names(run, ledger, table, tmp_path):
    result = fit(run, table, tmp_path / "o", "--ledger", ledger, "--cohorts", "Q1,Q2")
    assert result.status == 0 and "Of the cohorts 'Q1', 'Q2' alone" in result.out
    assert "epsilon 1.673 of 2 is left for Q1, Q2 at delta 1e-06" in result.out
    assert PrivacyLedger(ledger).receipts[0].cohorts == ("Q1", "Q2")
    assert run("verify", tmp_path / "o", "--ledger", ledger).status == 0


@pytest.mark.parametrize("other", ["q1", "Q\u0661"], ids=["a small letter", "another digit"])
def test_a_name_that_reads_like_another_is_refused_before_the_data_are_read(
    run, ledger, tmp_path, other
):
    run("ledger", "charge", ledger, "--label", "x", "--mu", 0.1, "--cohort", "Q1")
    result = fit(run, ledger, tmp_path / "o", "--ledger", ledger, "--cohorts", other)
    assert result.status == 2 and "reads like 'Q1'" in result.err
    assert len(PrivacyLedger(ledger).receipts) == 1


def test_a_refusal_names_the_cohort_and_what_it_has_left(run, ledger, table, tmp_path):
    run("ledger", "charge", ledger, "--label", "x", "--mu", 0.4, "--cohort", "Q1")
    result = fit(run, table, tmp_path / "o", "--ledger", ledger, "--cohorts", "Q1,Q2")
    assert result.status == 2 and "is spent on cohort 'Q1', which has least left" in result.err
    assert fit(run, table, tmp_path / "o", "--ledger", ledger, "--cohorts", "Q2").status == 0


def test_show_lists_what_each_cohort_paid_and_that_it_is_declared(run, ledger):
    for mu, cohorts in ((0.1, "Q1"), (0.2, "Q1,Q2"), (0.05, None)):
        named = () if cohorts is None else ("--cohorts", cohorts)
        result = run("ledger", "charge", ledger, "--label", "x", "--mu", mu, *named)
        assert result.status == 0 and ("declared" in result.out) == (cohorts is not None)
    said = run("ledger", "show", ledger).out
    lines = [line.split() for line in said.splitlines()]
    assert ["Q1", "0.22913"] in [line[:2] for line in lines]
    assert ["Q2", "0.20616"] in [line[:2] for line in lines]
    assert "Who is in which cohort was declared, and not verified" in said
    assert "mu 0.229128785" in said and ", for a release of all" in said


def test_a_ledger_without_cohorts_speaks_of_none(run, ledger):
    run("ledger", "charge", ledger, "--label", "x", "--mu", 0.1)
    said = run("ledger", "show", ledger).out.replace(str(ledger), "")
    assert "cohort" not in said and "for a release of all" not in said


def test_how_many_cohorts_a_person_may_be_in_is_fixed_at_the_start(run, tmp_path):
    options = ("--epsilon", 2, "--delta", 1e-6, "--max-cohorts-per-person", 2)
    refused = run("ledger", "create", tmp_path / "l", *options)
    assert refused.status == 2 and "several rows" in refused.err
    run("ledger", "create", path := tmp_path / "l", *options, "--unit", "patient")
    assert PrivacyLedger(path).max_cohorts_per_person == 2
    for name in ("a", "b"):
        run("ledger", "charge", path, "--label", "x", "--mu", 0.4, "--cohort", name)
    assert len(PrivacyLedger(path).receipts) == 1
    assert "(at most 2)" in run("ledger", "show", path).out


def test_a_fit_without_a_ledger_says_how_to_charge_its_cohorts(run, table, tmp_path):
    said = fit(run, table, tmp_path / "o", "--cohorts", 'Q1,"ward 3, west"').out
    assert "--cohorts 'Q1,\"ward 3, west\"'" in said


# A cohort that nobody came to.

EMPTY = {
    "line.csv": lambda path: path.write_text("a,b,c\n"),
    "bare.csv": lambda path: path.write_text("a,b,c"),
    "t.npy": lambda path: np.save(path, np.empty((0, 3))),
    "t.npz": lambda path: sparse.save_npz(path, sparse.csr_array((0, 3))),
    "t.parquet": lambda path: pq.write_table(
        pa.table({name: pa.array([], pa.float64()) for name in "abc"}), path
    ),
}


@pytest.fixture(params=EMPTY)
def nobody(request, tmp_path):
    EMPTY[request.param](tmp_path / request.param)
    return tmp_path / request.param


def test_a_table_without_rows_is_answered_for_a_cohort(run, ledger, nobody, tmp_path):
    result = fit(run, nobody, tmp_path / "o", "--ledger", ledger, "--cohort", "Q1")
    assert result.status == 0, result.err
    assert PrivacyLedger(ledger).cohorts == ("Q1",)
    assert run("verify", tmp_path / "o", "--ledger", ledger).status == 0


@pytest.mark.parametrize("options", [(), ("--cohort", "Q1", "--adjacency", "replace-one")])
def test_a_table_without_rows_is_refused_otherwise(run, nobody, tmp_path, options):
    result = fit(run, nobody, tmp_path / "o", *options)
    assert result.status == 2
    assert any(words in result.err for words in ("is empty", "has no rows", "0 sample(s)"))


def test_a_check_finds_no_fault_in_an_empty_cohort(run, nobody):
    assert run("fit", "--check", nobody, "--cohort", "Q1").status == 0
    assert run("fit", "--check", nobody).status == 1


def test_an_empty_file_among_others_is_read(run, ledger, table, tmp_path):
    (tmp_path / "bare.csv").write_text("a,b,c")
    cost = ("--epsilon", 1, "--delta", 1e-6, "-k", 2, "--no-pictures", "--ledger", ledger)
    result = run("fit", table, tmp_path / "bare.csv", *cost, "--out", tmp_path / "o")
    assert result.status == 0, result.err
