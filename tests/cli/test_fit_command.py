import csv
import io
import json
import re
import shlex
import shutil
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA

from skdppca import PrivacyLedger
from skdppca.cli import _fit_command
from skdppca.decomposition import METHODS
from skdppca.noise import NoiseSource
from skdppca.privacy import GaussianEvent, PrivacyReport, Released
from skdppca.report._context import HAZARDS
from skdppca.report._results import lost
from skdppca.report._sections import status_of

from .conftest import NAMES, assert_refused, charges

FILES = {"components.npz", "components.csv", "report.json", "report.html", "SHA256SUMS"}


def core_in(directory):
    return json.loads((directory / "report.json").read_text())["fit"]["core"]


def unit_in(directory):
    return core_in(directory)["guarantee"]["unit"]


@pytest.mark.parametrize("method", _fit_command.METHODS)
def test_a_fit_writes_all_files_and_says_so(fit, run, tmp_path, rows, method):
    np.save(tmp_path / "t.npy", np.tile(rows, (4, 1)))  # 5 % of the budget show where 1200 are
    result = fit("-k", 2, "--method", method, data=tmp_path / "t.npy", pictures=True)
    assert result.status == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} == FILES
    assert all(name in result.out for name in FILES)
    assert "Guarantee: epsilon 1 at delta 1e-06 for every row" in result.out
    assert result.err == ""
    assert run("report", tmp_path / "out").status == 0


def test_empty_cells_are_filled_and_the_report_says_so(fit, rows, tmp_path):
    rows[::7, 1] = np.nan
    pd.DataFrame(rows, columns=NAMES).to_csv(tmp_path / "t.csv", index=False)
    result = fit("--missing", "mean", data=tmp_path / "t.csv")
    assert result.status == 0
    page = (tmp_path / "out" / "report.html").read_text()
    for text in (result.out, page):
        assert "issing entries were filled with the mean" in text


@pytest.mark.parametrize("more", [(), ("--scale", "private")])
def test_a_feature_that_drowns_the_others_is_named(fit, rows, tmp_path, more):
    np.save(tmp_path / "t.npy", (rows + rows[:, :1]) * [1, 1000, 1, 1])
    result = fit("--epsilon", "inf", "-k", 1, *more, data=tmp_path / "t.npy")
    assert result.status == 0
    assert ("almost only 'x1'" in result.out) == ("almost only" in result.out) == (not more)


@pytest.mark.parametrize("method", ["gauss", "gdppca"])  # in passes over the file, and in memory
def test_private_scales_of_some_columns(fit, tmp_path, method):
    told = ("--scale", "private:age,pulse", "--epsilon", 20, "-k", 2, "--method", method)
    assert fit(*told).status == 0
    with np.load(tmp_path / "out" / "components.npz") as arrays:
        assert arrays["scale"][1:3].tolist() == [1.0, 1.0]
        assert 2 < arrays["scale"][0] < 8 and arrays["scale"][3] != 1


def test_names_of_columns_need_a_table(fit, rows, tmp_path):
    np.save(tmp_path / "t.npy", rows)
    result = fit("--scale", "private:age", data=tmp_path / "t.npy")
    assert_refused(result, "need a table with named columns")


def test_the_arrays_are_the_fitted_attributes(fit, rows, tmp_path):
    fit("-k", 2, "--epsilon", "inf")
    exact = PCA(2).fit(rows)
    with np.load(tmp_path / "out" / "components.npz") as arrays:
        assert np.allclose(np.abs(arrays["components"]), np.abs(exact.components_))
        assert np.allclose(arrays["mean"], exact.mean_)
        assert np.allclose(arrays["explained_variance"], exact.explained_variance_)
        assert tuple(arrays["feature_names"]) == NAMES


@pytest.mark.parametrize("begins", ["=", "+", "-", "@", "\uff1d"])
def test_no_name_is_a_formula_in_the_csv_or_in_synthetic_rows(fit, run, rows, tmp_path, begins):
    name = f"{begins}cmd|' /C calc'!A0"
    pd.DataFrame(rows, columns=[name, *NAMES[1:]]).to_parquet(tmp_path / "t.parquet")
    fit(data=tmp_path / "t.parquet")
    lines = list(csv.reader((tmp_path / "out" / "components.csv").open()))
    assert [line[0] for line in lines[1:]] == [f"'{name}", *NAMES[1:]]
    with np.load(tmp_path / "out" / "components.npz") as arrays:
        assert tuple(arrays["feature_names"]) == (name, *NAMES[1:])
    run("sample", tmp_path / "out", "-n", 1, "-o", tmp_path / "rows.csv")
    assert next(csv.reader((tmp_path / "rows.csv").open())) == [f"'{name}", *NAMES[1:]]


def test_a_fit_without_variances_writes_all_that_there_is(fit, run, rows, tmp_path, monkeypatch):
    # one fit of 50 takes its noise for variances; the seed is fixed
    words = np.random.PCG64(0).random_raw
    monkeypatch.setattr(NoiseSource, "words", lambda self, n: words(n))
    np.save(tmp_path / "t.npy", np.hstack([rows, rows[::-1]]))
    result = fit("--epsilon", 0.01, "-k", 2, data=tmp_path / "t.npy", pictures=True)
    assert result.status == 0
    assert "No variances: the noise hides" in result.out
    assert {path.name for path in (tmp_path / "out").iterdir()} == FILES
    page = (tmp_path / "out" / "report.html").read_text()
    assert 'id="picture-loadings"' in page and 'id="picture-scree"' not in page
    assert "No variances: the noise hides" in page
    assert run("report", tmp_path / "out").status == 0


def test_force_replaces_earlier_results_and_nothing_else(fit, tmp_path):
    (tmp_path / "out").mkdir()
    for name in ("thesis.tex", "components.csv", "SHA256SUMS"):
        (tmp_path / "out" / name).touch()
    assert_refused(fit("--force"), "holds no earlier release")
    (tmp_path / "out" / "thesis.tex").unlink()
    assert fit("--force").status == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} == FILES
    previous = tmp_path / "out.previous"
    assert {path.name for path in previous.iterdir()} == {"components.csv", "SHA256SUMS"}


@pytest.mark.parametrize("name", ["components.csv", "SHA256SUMS"])
def test_the_data_and_the_ledger_are_never_replaced_by_results(fit, table, ledger, tmp_path, name):
    (tmp_path / "out").mkdir()
    account = tmp_path / "out" / name
    ledger.rename(account)
    data = shutil.copy(table, tmp_path / "out" / "report.json")
    for path, given, charged in ((account, table, ("--ledger", account)), (data, data, ())):
        before = path.read_bytes()
        assert_refused(fit("--force", *charged, data=given), "would be replaced")
        assert path.read_bytes() == before


def test_what_a_refusal_says_is_left_can_be_fitted(fit, ledger):
    PrivacyLedger(ledger).charge_external("sums", adjacency="add-remove", mu=0.2)
    refused = fit("--ledger", ledger, "--epsilon", 1.9).err
    remedy = refused[refused.index("--epsilon") :].split(",")[0].split()
    assert len(remedy) == 4
    assert fit("--ledger", ledger, *remedy).status == 0


def test_a_release_that_is_replaced_stays_charged_and_is_named(fit, ledger, tmp_path):
    half = ("--ledger", ledger, "--epsilon", 0.5)
    assert "Replaced" not in fit(*half).out
    release = json.loads((tmp_path / "out" / "report.json").read_text())["fit"]["release_id"]
    said = fit(*half, "--force").out
    assert f"Replaced: release {release[:16]}. Its charge stays: epsilon 0.5" in said
    assert charges(ledger) == 2


@pytest.mark.parametrize("method", METHODS)
def test_the_number_of_records_has_a_range(fit, method):
    command = METHODS[method].command
    said = fit("-k", 2, "--method", command, "--epsilon", 5, "--delta", 1e-3).out
    about, within = re.search(r"about (\d+) records \(95 %: give or take (\d+)\)", said).groups()
    # 1e-9 of all fits lie farther off: 6.1 sds of Gaussian noise, and a range has 2.12 or more
    assert abs(int(about) - 300) <= 3 * int(within) + 1


@pytest.mark.parametrize(
    ("unit", "options", "remedy"),
    [
        ("row", ("--adjacency", "replace-one"), "pass --adjacency add-remove"),
        ("row", ("--groups", "age"), "a ledger that was made with --unit age"),
        ("patient id", (), "pass --groups 'patient id'"),
        ("patient", ("--groups", "age"), "pass --unit patient if every age is one patient"),
    ],
)
def test_a_ledger_of_another_unit_is_refused_in_words_of_the_shell(
    fit, run, tmp_path, unit, options, remedy
):
    path = tmp_path / "other.ledger"
    run("ledger", "create", path, "--epsilon", 2, "--delta", 1e-6, "--unit", unit)
    result = fit("--ledger", path, *options)
    assert_refused(result, remedy, ledger=path)
    assert "unit=" not in result.err


def test_a_fit_without_a_ledger_prints_the_command_that_charges_it(fit, run, ledger, tmp_path):
    (line,) = [line for line in fit().out.splitlines() if "ledger charge" in line]
    command = line.replace("FILE", shlex.quote(str(ledger)))
    assert run(*shlex.split(command)[1:]).status == 0
    (receipt,) = PrivacyLedger(ledger).receipts
    mu = core_in(tmp_path / "out")["event"]["mu"]
    assert mu <= receipt.event.mu <= mu * 1.001


def test_a_label_that_is_left_out_in_silence_is_refused(fit, rows, ledger, tmp_path):
    visits, chosen = tmp_path / "visits.csv", ("--columns", "age,pulse", "-k", 1)
    frame = pd.DataFrame(rows, columns=NAMES).assign(patient_id=np.arange(len(rows)) // 2)
    frame.to_csv(visits, index=False)
    result = fit(*chosen, "--ledger", ledger, data=visits)
    assert_refused(result, "pass --groups patient_id, or --unit row", ledger=ledger)
    assert fit(*chosen, "--unit", "row", data=visits).status == 0
    assert unit_in(tmp_path / "out") == "row"
    dropped = ("--drop", "patient_id", "--force")
    assert_refused(fit(*dropped, data=visits), "pass --groups patient_id, or --unit row")
    assert fit(*dropped, "--unit", "row", data=visits).status == 0


@pytest.mark.parametrize(
    ("name", "choice"),
    [("", ("--drop", "")), ("", ("--columns", "age,pulse")), ("rownames", ("--columns", "age"))],
)
def test_row_numbers_are_left_out(fit, rows, tmp_path, name, choice):
    frame = pd.DataFrame(rows, columns=NAMES)
    frame.to_csv(tmp_path / "t.csv", index_label=name, index=True)
    enough = ("--epsilon", 20)  # to see a centre in a single column, too
    result = fit(*enough, "-k", 1, *choice, data=tmp_path / "t.csv")
    assert (result.status, result.err) == (0, "")
    with np.load(tmp_path / "out" / "components.npz") as arrays:
        assert set(arrays["feature_names"]) <= {*NAMES}


def test_groups_become_the_unit(fit, rows, tmp_path):
    frame = pd.DataFrame(rows, columns=NAMES).assign(patient=np.arange(len(rows)) // 2)
    frame.to_parquet(tmp_path / "t.parquet")
    for unit, more in (("patient", ()), ("person", ("--unit", "person", "--force"))):
        assert fit("--groups", "patient", *more, data=tmp_path / "t.parquet").status == 0
        assert unit_in(tmp_path / "out") == unit
        with np.load(tmp_path / "out" / "components.npz") as arrays:
            assert tuple(arrays["feature_names"]) == NAMES


@pytest.mark.parametrize("unit", ["pa\udcfftient", "pa\x1b[2Jtient", "pa\ntient", "\x07"])
def test_a_unit_that_no_file_can_hold_is_refused_before_the_charge(fit, tmp_path, run, unit):
    ledger = tmp_path / "groups.ledger"
    run("ledger", "create", ledger, "--epsilon", 2, "--delta", 1e-6, "--unit", "person")
    result = fit("--groups", "age", "--unit", unit, "--ledger", ledger)
    assert_refused(result, "cannot be called", ledger=ledger)
    assert result.err.rstrip("\n").isprintable()


def test_what_is_printed_of_a_path_cannot_steer_the_terminal(fit, tmp_path):
    out = tmp_path / "\x1b[2J\udcff"
    result = fit("--out", out)
    assert result.status == 0
    assert r"\x1b[2J\udcff/: components.npz" in result.out and "\x1b" not in result.out
    assert {path.name for path in out.iterdir()} == FILES


def test_names_that_the_terminal_cannot_spell_end_no_paid_fit(fit, rows, tmp_path, monkeypatch):
    frame = pd.DataFrame(rows, columns=NAMES).assign(größe=np.arange(len(rows)))
    frame.to_parquet(tmp_path / "t.parquet")
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(said := io.BytesIO(), encoding="ascii"))
    assert fit("--groups", "größe", "-k", 2, data=tmp_path / "t.parquet").status == 0
    assert b"gr\\xf6\\xdfe" in said.getvalue()


@pytest.mark.parametrize("options", [(), ("--scale", "private"), ("--method", "kdppca")])
def test_table_archive_and_report_hold_the_same(fit, tmp_path, options):
    assert fit("-k", 2, *options).status == 0
    core = core_in(tmp_path / "out")
    heads, *lines = csv.reader((tmp_path / "out" / "components.csv").open())
    scale = ["scale"] * ("private" in options)
    assert heads == ["feature", "mean", *scale, "pc1", "pc2"]
    assert [line[0] for line in lines] == list(NAMES)
    with np.load(tmp_path / "out" / "components.npz") as arrays:
        columns = [arrays[name] for name in ("mean", *scale)]
        expected = np.column_stack([*columns, arrays["components"].T])
        assert np.array_equal(np.array([line[1:] for line in lines], float), expected)
        names = [one["name"] for one in core["released"]]
        assert set(arrays) == {*names, "feature_names"}
        written = {Released.of(name, arrays[name]) for name in names}
    assert written == {Released(**one | {"shape": tuple(one["shape"])}) for one in core["released"]}


REFUSED = {
    "too many components": (("-k", 9), "-k 9 exceeds n_features=4; choose at most 4"),
    "no budget": (("--epsilon", 0), "--epsilon must be a float in the range (0.0, inf]. Got 0.0"),
    "no promise": (("--delta", 1), "--delta must be a float in the range [0.0, 1.0). Got 1.0"),
    "pure": (("--delta", 0, "-k", 2), "--delta 0 is pure privacy, which leaves no Gaussian noise"),
    "pure with a mean": (("--delta", 0, "--norm-bound", 9, "-k", 2), "set both (or --no-center)"),
    "pure and a method": (
        ("--delta", 0, "--method", "gauss"),
        "--delta must be a float in the range",
    ),
    "pure and a spectrum": (
        ("--delta", 0, "--norm-bound", 1, "--no-center"),
        "-k must be an int in the range [1, inf)",
    ),
    "no bound": (("--norm-bound", 0), "--norm-bound must be a float in the range (0.0, inf)"),
    "other scales": (("--scale", 3), "3 is no scale; write private"),
    "scales of no column": (
        ("--scale", "private:agee"),
        "--scale private:agee: table.csv has no such feature; it has 'age', 'height'",
    ),
    "scales of a column that is left out": (
        ("--scale", "private:age", "--drop", "age"),
        "--scale private:age: table.csv has no such feature",
    ),
    "over budget": (
        ("--epsilon", 3),
        "epsilon 3 at delta 1e-06 was asked for, and 2 is left (epsilon 0 of 2 is spent)",
    ),
    "a unit without groups": (("--unit", "patient"), "needs --groups COLUMN"),
    "groups called rows": (("--groups", "row"), "cannot be called 'row'"),
    "not private": (
        ("--epsilon", "inf"),
        "--epsilon inf has no cost that an accountant could charge",
    ),
    **{
        f"no spectrum: {one.command}": (("--method", one.command), "sees no spectrum to choose")
        for one in METHODS.values()
        if not one.spectral
    },
}


@pytest.mark.parametrize(("options", "says"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_fitted_is_one_line_and_charges_nothing(
    fit, ledger, tmp_path, options, says
):
    result = fit("--ledger", ledger, *options)
    assert_refused(result, says, ledger=ledger)
    assert not any(word in result.err for word in ("Event", "error_score", "epsilon="))
    assert not (tmp_path / "out").exists()


def test_where_a_ledger_is_required_or_missing_the_refusal_names_what_to_do(
    fit, tmp_path, monkeypatch
):
    result = fit("--ledger", tmp_path / "gone.ledger")
    assert_refused(result, "skdppca ledger create")
    assert not (tmp_path / "gone.ledger").exists()
    monkeypatch.setenv("SKDPPCA_REQUIRE_ACCOUNTANT", "1")
    result = fit()
    assert_refused(result, "in a shell, --ledger FILE")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("names", "force", "says"),
    [
        (("thesis.tex",), (), "choose another directory, because it holds no earlier release"),
        (("raw.csv", "components.csv"), ("--force",), "holds no earlier release"),
        (
            ("components.csv",),
            (),
            "or replace earlier results in it with --force\n",
        ),
    ],
)
def test_a_directory_in_use_is_refused_before_the_charge(fit, ledger, tmp_path, names, force, says):
    (tmp_path / "out").mkdir()
    for name in names:
        (tmp_path / "out" / name).touch()
    assert_refused(fit("--ledger", ledger, *force), says, ledger=ledger)
    assert len([*(tmp_path / "out").iterdir()]) == len(names)


def test_a_directory_that_cannot_be_made_is_found_before_the_charge(fit, table, ledger):
    assert_refused(fit("--ledger", ledger, "--out", table / "out"), ledger=ledger)


def test_a_fit_says_what_its_ledger_holds_afterwards(fit, run, ledger, tmp_path):
    result = fit("--ledger", ledger, "--delta", 1e-7, "--details", "--title", "Lab values")
    account, said = PrivacyLedger(ledger), result.out
    written = core_in(tmp_path / "out")["receipts"][0]
    left = float(re.search(r"Budget: epsilon ([\d.]+) of 2 is left at delta 1e-06", said)[1])
    assert account.remaining.epsilon - 1e-3 <= left <= account.remaining.epsilon < 2
    cost = float(re.search(r"costs epsilon ([\d.]+) at the ledger's delta 1e-06", said)[1])
    assert account.spent.epsilon <= cost <= account.spent.epsilon + 1e-4
    assert f"charged as row 1 of the ledger {ledger}" in said
    assert f"charged as row 1 of the ledger {account.id[:16]}" in said
    assert "accountant" not in said and "Not stated" not in said and "ledger charge" not in said
    (receipt,), (release,) = account.receipts, account.releases
    assert (written["row"], written["head"]) == (1, receipt.head)
    assert release.head in (tmp_path / "out" / "report.html").read_text()
    assert len(re.findall(r"head [0-9a-f]{12}", said)) == 1
    *_, command = said.strip().splitlines()
    assert command.endswith(f"--head {account.statement().chain.head()}")
    assert run(*shlex.split(command)[1:], "--allow", "open").status == 0
    assert "is spent by 1 charge); " in fit("--ledger", ledger, "--epsilon", 1.9, "--force").err


def test_a_fit_without_a_ledger_says_what_it_did_not_state(fit, tmp_path):
    said = fit("-k", 2, "--adjacency", "replace-one").out
    assert "--adjacency replace-one" in said and "from 300 records.\n" in said
    declare = f"  skdppca declare {tmp_path / 'out'} --title TEXT --context FILE --out DIR"
    assert declare in said.splitlines()
    assert "the page says 'Not stated'" in said and "This fit costs" not in said


GAUSSIAN = ("DPGauss", 1.0, 1e-6, "add-remove", "row", GaussianEvent(0.2))


@pytest.mark.parametrize(
    ("alignments", "parameters", "says"),
    [
        ([0.9, 0.0], {}, "1 of 2 components cannot be told from noise. Do not interpret it."),
        ([0, 0.5, 0], {}, "2 of 3 components cannot be told from noise. Do not interpret them."),
        ([0.9, 0], {}, "with --scale private (if the columns have different units), a larger"),
        ([0.0], {"scale": "private"}, "fit again with a larger --epsilon"),
        ([0.9, 0.1], {}, ""),
    ],
)
def test_components_that_are_noise_are_named(alignments, parameters, says):
    details = {"alignments": alignments}
    text = "".join(lost(PrivacyReport(*GAUSSIAN, details=details, parameters=parameters)))
    assert says in text and bool(says) == bool(text)


def test_a_demo_ends_on_a_page_that_can_be_trusted_and_is_charged(run, tmp_path):
    out, ledger = tmp_path / "demo", tmp_path / "demo-digits.ledger"
    result = run("demo", "--out", out)
    assert result.status == 0 and "These data are public" in result.out
    assert f"skdppca verify {out} --ledger {ledger}" in result.out
    assert {path.name for path in out.iterdir()} == FILES
    document = json.loads((out / "report.json").read_text())
    assert status_of(document) == "private"
    assert {*HAZARDS} <= {name for name, said in document["context"].items() if said}
    assert "public" in document["title"] and "digits are public" in document["context"]["purpose"]
    assert run("verify", out, "--ledger", ledger).status == 0
    assert run("demo", "--out", out, "--force").status == 0
    assert charges(ledger) == 2
