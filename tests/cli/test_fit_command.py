import csv
import io
import json
import re
import shlex
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA

from skdppca import PrivacyLedger
from skdppca.cli import _fit_command
from skdppca.cli._fit_command import _units
from skdppca.decomposition import METHODS
from skdppca.noise import NoiseSource
from skdppca.privacy import GaussianEvent, PrivacyReport, Released
from skdppca.privacy.installing import how_to_install
from skdppca.report._context import HAZARDS
from skdppca.report._results import lost
from skdppca.report._sections import status_of

from .conftest import NAMES, charges, is_one_line_error

FILES = {"components.npz", "components.csv", "report.json", "report.html", "SHA256SUMS"}


def core_in(directory):
    return json.loads((directory / "report.json").read_text())["fits"][0]["core"]


def unit_in(directory):
    return core_in(directory)["guarantee"]["unit"]


@pytest.mark.parametrize("method", _fit_command.METHODS)
def test_a_fit_writes_all_files_and_says_so(run, tmp_path, rows, budget, method):
    np.save(tmp_path / "t.npy", np.tile(rows, (4, 1)))  # 5 % of the budget show where 1200 are
    options = ("-k", 2, "--method", method, "--out", tmp_path / "out")
    result = run("fit", tmp_path / "t.npy", *budget, *options)
    assert result.status == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} == FILES
    assert all(name in result.out for name in FILES)
    assert "Guarantee: epsilon 1 at delta 1e-06 for every row" in result.out
    assert result.err == ""
    assert run("report", tmp_path / "out").status == 0


def test_empty_cells_are_filled_and_the_report_says_so(run, rows, budget, tmp_path):
    rows[::7, 1] = np.nan
    pd.DataFrame(rows, columns=NAMES).to_csv(tmp_path / "t.csv", index=False)
    options = ("--missing", "mean", "--no-pictures", "--out", tmp_path / "out")
    result = run("fit", tmp_path / "t.csv", *budget, *options)
    assert result.status == 0
    page = (tmp_path / "out" / "report.html").read_text()
    for text in (result.out, page):
        assert "issing entries were filled with the mean" in text


@pytest.mark.parametrize(("factor", "more"), [(1000, ()), (1, ()), (1000, ("--scale", "private"))])
def test_a_feature_that_drowns_the_others_is_named(run, rows, tmp_path, factor, more):
    np.save(tmp_path / "t.npy", (rows + rows[:, :1]) * [1, factor, 1, 1])
    without_noise = ("--epsilon", "inf", "--delta", 1e-6, "-k", 1, "--out", tmp_path / "out")
    result = run("fit", tmp_path / "t.npy", *without_noise, *more)
    assert result.status == 0
    assert ("almost only 'x1'" in result.out) == (factor > 1 and not more)
    assert ("almost only" in result.out) == (factor > 1 and not more)


@pytest.mark.parametrize(("given", "taken"), [("DPGauss", "DPGauss"), ("privatepca", "PrivatePCA")])
def test_a_method_can_be_called_by_its_class(fit, tmp_path, given, taken):
    assert fit("-k", 2, "--method", given).status == 0
    assert core_in(tmp_path / "out")["method"] == taken


@pytest.mark.parametrize(
    "options",
    [
        *(("--method", one.command) for one in METHODS.values() if not one.spectral),
        ("--delta", 0, "--norm-bound", 1, "--no-center"),
    ],
)
def test_methods_without_a_spectrum_need_a_number_of_components(fit, ledger, options):
    result = fit("--ledger", ledger, *options)
    assert is_one_line_error(result)
    assert "--components K" in result.err
    assert charges(ledger) == 0


def test_the_arrays_are_the_fitted_attributes(run, table, rows, tmp_path):
    run("fit", table, "-k", 2, "--epsilon", "inf", "--delta", 1e-6, "--out", tmp_path / "out")
    exact = PCA(2).fit(rows)
    with np.load(tmp_path / "out" / "components.npz") as arrays:
        assert np.allclose(np.abs(arrays["components"]), np.abs(exact.components_))
        assert np.allclose(arrays["mean"], exact.mean_)
        assert np.allclose(arrays["explained_variance"], exact.explained_variance_)
        assert tuple(arrays["feature_names"]) == NAMES


def test_the_csv_says_the_same_as_the_arrays(fit, tmp_path):
    fit("-k", 2)
    lines = list(csv.reader((tmp_path / "out" / "components.csv").open()))
    assert lines[0] == ["feature", "mean", "pc1", "pc2"]
    assert [line[0] for line in lines[1:]] == list(NAMES)
    with np.load(tmp_path / "out" / "components.npz") as arrays:
        expected = np.column_stack([arrays["mean"], arrays["components"].T])
    assert np.array_equal(np.array([line[1:] for line in lines[1:]], float), expected)


@pytest.mark.parametrize("options", [(), ("--scale", "private"), ("--method", "kdppca")])
def test_the_archive_has_what_the_report_holds_the_hashes_of(fit, tmp_path, options):
    assert fit("-k", 2, *options).status == 0
    core = core_in(tmp_path / "out")
    with np.load(tmp_path / "out" / "components.npz") as arrays:
        names = [one["name"] for one in core["released"]]
        assert set(arrays) == {*names, "feature_names"}
        written = {Released.of(name, arrays[name]) for name in names}
    assert written == {Released.from_dict(one) for one in core["released"]}


@pytest.mark.parametrize("begins", ["=", "+", "-", "@", "\uff1d"])
def test_no_name_is_a_formula_in_the_csv(run, rows, budget, tmp_path, begins):
    name = f"{begins}cmd|' /C calc'!A0"
    pd.DataFrame(rows, columns=[name, *NAMES[1:]]).to_parquet(tmp_path / "t.parquet")
    run("fit", tmp_path / "t.parquet", *budget, "--no-pictures", "--out", tmp_path / "out")
    lines = list(csv.reader((tmp_path / "out" / "components.csv").open()))
    assert [line[0] for line in lines[1:]] == [f"'{name}", *NAMES[1:]]
    with np.load(tmp_path / "out" / "components.npz") as arrays:
        assert tuple(arrays["feature_names"]) == (name, *NAMES[1:])


def test_private_scales_are_written_beside_the_mean(fit, tmp_path):
    assert fit("-k", 2, "--scale", "private").status == 0
    lines = list(csv.reader((tmp_path / "out" / "components.csv").open()))
    assert lines[0] == ["feature", "mean", "scale", "pc1", "pc2"]
    with np.load(tmp_path / "out" / "components.npz") as arrays:
        assert [float(line[2]) for line in lines[1:]] == list(arrays["scale"])
        assert (arrays["scale"] > 0).all()


def test_other_scales_are_no_option(fit):
    assert is_one_line_error(fit("-k", 2, "--scale", "3"))


def test_the_report_carries_the_ledgers_row_and_head(fit, ledger, tmp_path):
    assert fit("--ledger", ledger).status == 0
    written = core_in(tmp_path / "out")["receipt"]
    (receipt,) = PrivacyLedger(ledger).receipts
    assert (written["row"], written["head"]) == (1, receipt.head)
    (release,) = PrivacyLedger(ledger).releases
    assert release.head in (tmp_path / "out" / "report.html").read_text()


def test_the_page_is_one_file_that_loads_nothing(fit, tmp_path):
    fit("-k", 2, pictures=True)
    page = (tmp_path / "out" / "report.html").read_text()
    assert page.count("src=") == page.count('<img src="data:image/svg+xml;base64,') == 3
    assert "<script" not in page and "<link" not in page and "<svg" not in page
    assert "Rows sent through these components are not protected." in page


@pytest.mark.parametrize("method", ["gauss", "kdpojas"])
def test_the_page_tells_of_the_bars_that_are_drawn(fit, tmp_path, method):
    fit("-k", 1, "--method", method, pictures=True)
    page = (tmp_path / "out" / "report.html").read_text()
    assert "95 % range" in page and "hold the noise that was added for privacy" in page
    assert "1 component of 4" in page


def test_a_fit_without_variances_writes_all_that_there_is(run, rows, tmp_path, monkeypatch):
    # one fit of 50 takes its noise for variances; the seed is fixed
    words = np.random.PCG64(0).random_raw
    monkeypatch.setattr(NoiseSource, "words", lambda self, n: words(n))
    np.save(tmp_path / "t.npy", np.hstack([rows, rows[::-1]]))
    small = ("--epsilon", 0.01, "--delta", 1e-6, "-k", 2, "--out", tmp_path / "out")
    result = run("fit", tmp_path / "t.npy", *small)
    assert result.status == 0
    assert "No variances: the noise hides" in result.out
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == FILES
    page = (tmp_path / "out" / "report.html").read_text()
    assert 'id="picture-loadings"' in page and 'id="picture-scree"' not in page
    assert "No variances: the noise hides" in page
    assert run("report", tmp_path / "out").status == 0


def test_the_page_escapes_names(run, table, budget, tmp_path):
    table.write_text(table.read_text().replace("age", "<b>"))
    run("fit", table, *budget, "--header", "--out", tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text()
    assert "&lt;b&gt;" in page and "<b>" not in page


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ((), "the number of records, with noise"),
        (("--adjacency", "replace-one"), "every parameter, the number of records"),
        (("--epsilon", "inf"), "Treat these files as you treat the data."),
    ],
)
def test_the_page_says_what_is_protected(fit, tmp_path, more, said):
    fit("-k", 2, *more)
    assert said in (tmp_path / "out" / "report.html").read_text()


def test_what_is_declared_stands_on_the_page(fit, tmp_path):
    (tmp_path / "context.yaml").write_text("curator: Clinic of Anytown\nregion: Germany\n")
    context = ("--context", tmp_path / "context.yaml")
    assert fit("-k", 2, "--title", "Lab <b>values", *context).status == 0
    page = (tmp_path / "out" / "report.html").read_text()
    assert "<title>Lab &lt;b&gt;values</title>" in page and "Clinic of Anytown" in page


@pytest.mark.parametrize("text", ["place: here", "[1]", "a: [", "region: 3", "\udcff"])
def test_a_context_that_cannot_be_declared_is_refused_before_the_charge(
    fit, ledger, tmp_path, text
):
    path = tmp_path / "context.yaml"
    path.write_bytes(text.encode(errors="surrogateescape"))
    result = fit("-k", 2, "--ledger", ledger, "--context", path)
    assert is_one_line_error(result) and "--context" in result.err
    assert charges(ledger) == 0


def test_without_jinja2_nothing_is_charged(monkeypatch, fit, ledger):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    result = fit("--ledger", ledger)
    assert is_one_line_error(result)
    assert how_to_install("report") in result.err
    assert charges(ledger) == 0


def test_a_directory_in_use_is_refused_before_the_charge(fit, ledger, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").touch()
    result = fit("--ledger", ledger)
    assert is_one_line_error(result)
    assert "choose another directory" in result.err and "force" not in result.err
    assert charges(ledger) == 0


def test_an_earlier_release_is_replaced_by_an_option_of_the_shell(fit):
    assert fit("-k", 2).status == 0
    assert fit("-k", 2).err.endswith("or replace earlier results in it with --force\n")


def test_force_writes_nothing_where_there_is_no_release(fit, ledger, tmp_path):
    (tmp_path / "out").mkdir()
    for name in ("raw.csv", "components.csv"):
        (tmp_path / "out" / name).touch()
    result = fit("--ledger", ledger, "--force")
    assert is_one_line_error(result)
    assert "holds no earlier release" in result.err
    assert charges(ledger) == 0 and len([*(tmp_path / "out").iterdir()]) == 2


def test_force_replaces_earlier_results_and_nothing_else(fit, tmp_path):
    (tmp_path / "out").mkdir()
    for name in ("thesis.tex", "components.csv", "SHA256SUMS"):
        (tmp_path / "out" / name).touch()
    assert fit("--force").status == 0
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == FILES | {"thesis.tex"}
    assert (tmp_path / "out" / "components.csv").read_text()


@pytest.mark.parametrize("name", ["components.csv", "SHA256SUMS", "skdppca.lock"])
def test_the_data_and_the_ledger_are_never_replaced_by_results(
    run, table, budget, ledger, tmp_path, name
):
    (tmp_path / "out").mkdir()
    account = tmp_path / "out" / name
    ledger.rename(account)
    options = (*budget, "--force", "--out", tmp_path / "out")
    before = account.read_bytes()
    result = run("fit", table, "--ledger", account, *options)
    assert is_one_line_error(result)
    assert "would be replaced" in result.err
    assert account.read_bytes() == before
    data = tmp_path / "out" / "components.csv"
    table.rename(data)
    before = data.read_bytes()
    result = run("fit", data, *options)
    assert is_one_line_error(result)
    assert "would be replaced" in result.err
    assert data.read_bytes() == before


def test_a_directory_that_cannot_be_made_is_found_before_the_charge(
    run, table, budget, ledger, tmp_path
):
    result = run("fit", table, *budget, "--ledger", ledger, "--out", table / "out")
    assert is_one_line_error(result)
    assert charges(ledger) == 0


def test_a_fit_over_budget_is_one_line_and_leaves_nothing(fit, ledger, tmp_path):
    result = fit("--ledger", ledger, "--epsilon", 3)
    assert is_one_line_error(result)
    assert "epsilon 3 at delta 1e-06 was asked for, and 2 is left" in result.err
    assert not any(word in result.err for word in ("Event", "error_score", "epsilon="))
    assert charges(ledger) == 0
    assert not (tmp_path / "out").exists()


def test_what_a_refusal_says_is_left_can_be_fitted(fit, ledger):
    PrivacyLedger(ledger).charge_external("sums", adjacency="add-remove", mu=0.2)
    refused = fit("--ledger", ledger, "--epsilon", 1.9).err
    remedy = refused[refused.index("--epsilon") :].split(",")[0].split()
    assert len(remedy) == 4
    assert fit("--ledger", ledger, *remedy).status == 0


def test_where_nothing_is_left_no_epsilon_is_asked_for(fit, ledger):
    PrivacyLedger(ledger).charge_external("all", adjacency="add-remove", epsilon=2.0, delta=1e-6)
    assert (
        "0 is left (epsilon 2 of 2 is spent by 1 charge); to go on" in fit("--ledger", ledger).err
    )


def test_a_release_that_is_replaced_stays_charged_and_is_named(fit, ledger, tmp_path):
    half = ("--ledger", ledger, "--epsilon", 0.5)
    assert "Replaced" not in fit(*half).out
    release = json.loads((tmp_path / "out" / "report.json").read_text())["fits"][0]["release_id"]
    said = fit(*half, "--force").out
    assert f"Replaced: release {release[:16]}. Its charge stays: epsilon 0.5" in said
    assert charges(ledger) == 2


def test_the_one_head_that_is_printed_is_that_of_the_ledger(fit, run, ledger):
    said = fit("--ledger", ledger).out
    head = PrivacyLedger(ledger).statement().chain.head()
    assert len(re.findall(r"head [0-9a-f]{12}", said)) == 1
    *_, command = said.strip().splitlines()
    assert command.endswith(f"--head {head}")
    assert run(*shlex.split(command)[1:]).status == 0


@pytest.mark.parametrize("method", METHODS)
def test_the_number_of_records_has_a_range(fit, method):
    command = METHODS[method].command
    said = fit("-k", 2, "--method", command, "--epsilon", 5, "--delta", 1e-3).out
    about, within = re.search(r"about (\d+) records \(95 %: give or take (\d+)\)", said).groups()
    # 1e-9 of all fits lie farther off: 6.1 sds of Gaussian noise, and a range has 2.12 or more
    assert abs(int(about) - 300) <= 3 * int(within) + 1


def test_a_public_number_of_records_has_no_range(fit):
    said = fit("-k", 2, "--adjacency", "replace-one").out
    assert "from 300 records.\n" in said


@pytest.mark.parametrize(
    ("alignments", "says"),
    [
        ([0.9, 0.0], "Component 2 of 2: lost in the noise"),
        ([0.9, 0, 0, 0], "Components 2 to 4 of 4: lost"),
        ([0, 0.5, 0], "Components 1, 3 of 3: lost"),
        (
            [0.9, 0],
            "fit again with --scale private (if the columns have different units), a larger",
        ),
        ([0.9, 0.1], ""),
    ],
)
def test_components_that_are_noise_are_named(alignments, says):
    event, details = GaussianEvent(0.2), {"alignments": alignments}
    report = PrivacyReport("DPGauss", 1.0, 1e-6, "add-remove", "row", event, details=details)
    text = "".join(lost(report))
    assert says in text and bool(says) == bool(text)


def test_scaled_columns_are_not_to_be_scaled_again():
    event, details = GaussianEvent(0.2), {"alignments": [0.0]}
    report = PrivacyReport(
        *("DPGauss", 1.0, 1e-6, "add-remove", "row", event),
        details=details,
        parameters={"scale": "private"},
    )
    (line,) = lost(report)
    assert "fit again with a larger --epsilon" in line


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
    assert is_one_line_error(result)
    assert remedy in result.err and "unit=" not in result.err
    assert charges(path) == 0


def test_a_fit_says_what_is_left_of_its_ledger(fit, ledger):
    said = fit("--ledger", ledger).out
    left = float(re.search(r"Budget: epsilon ([\d.]+) of 2 is left at delta 1e-06", said)[1])
    remaining = PrivacyLedger(ledger).remaining.epsilon
    assert remaining - 1e-3 <= left <= remaining < 2
    assert "This fit costs" not in said


def test_a_fit_at_another_delta_says_what_it_costs_its_ledger(fit, ledger):
    said = fit("--ledger", ledger, "--delta", 1e-7).out
    spent = PrivacyLedger(ledger).spent.epsilon
    cost = float(re.search(r"costs epsilon ([\d.]+) at the ledger's delta 1e-06", said)[1])
    assert spent <= cost <= spent + 1e-4


def test_a_fit_without_a_ledger_prints_the_command_that_charges_it(fit, run, ledger, tmp_path):
    (line,) = [line for line in fit().out.splitlines() if "ledger charge" in line]
    command = line.replace("FILE", shlex.quote(str(ledger)))
    assert run(*shlex.split(command)[1:]).status == 0
    (receipt,) = PrivacyLedger(ledger).receipts
    mu = core_in(tmp_path / "out")["event"]["mu"]
    assert mu <= receipt.event.mu <= mu * 1.001


def test_the_command_that_charges_a_fit_names_its_neighbours(fit):
    assert "--adjacency replace-one" in fit("-k", 2, "--adjacency", "replace-one").out


@pytest.mark.parametrize("charged", [True, False])
def test_no_command_charges_what_a_ledger_knows_or_nobody_can(fit, ledger, charged):
    result = fit("--ledger", ledger) if charged else fit("-k", 2, "--epsilon", "inf")
    assert result.status == 0 and "ledger charge" not in result.out


def test_where_a_ledger_is_required_the_refusal_names_the_option(fit, tmp_path, monkeypatch):
    monkeypatch.setenv("SKDPPCA_REQUIRE_ACCOUNTANT", "1")
    result = fit()
    assert is_one_line_error(result)
    assert "pass --ledger FILE" in result.err and "accountant=" not in result.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("options", [("--title", "Lab values"), ()])
def test_what_is_not_stated_is_said_where_nothing_was(fit, options):
    assert ("the page says 'Not stated'" in fit(*options).out) == (not options)


def test_the_report_in_a_shell_names_the_ledger_and_no_accountant(fit, ledger):
    said = fit("--ledger", ledger, "--details").out
    assert said.count(f"charged as row 1 of the ledger {ledger}") == 2
    assert "accountant" not in said


@pytest.fixture
def visits(tmp_path, rows):
    path = tmp_path / "visits.csv"
    frame = pd.DataFrame(rows, columns=NAMES).assign(patient_id=np.arange(len(rows)) // 2)
    frame.to_csv(path, index=False)
    return path


def test_a_label_that_is_left_out_in_silence_is_refused(run, visits, budget, ledger, tmp_path):
    data = ("fit", visits, *budget, "--columns", "age,pulse", "-k", 1, "--ledger", ledger)
    result = run(*data, "--out", tmp_path / "o")
    assert is_one_line_error(result)
    assert "pass --groups patient_id, or --unit row" in result.err
    assert charges(ledger) == 0
    assert run(*data, "--unit", "row", "--out", tmp_path / "o").status == 0
    assert unit_in(tmp_path / "o") == "row"


def test_a_label_that_is_dropped_by_name_is_no_slip(run, visits, budget, tmp_path):
    assert run("fit", visits, *budget, "--drop", "patient_id", "--out", tmp_path / "o").status == 0


@pytest.mark.parametrize(
    ("name", "choice"),
    [("", ("--drop", "")), ("", ("--columns", "age,pulse")), ("rownames", ("--columns", "age"))],
)
def test_row_numbers_are_left_out(run, rows, tmp_path, name, choice):
    frame = pd.DataFrame(rows, columns=NAMES)
    frame.to_csv(tmp_path / "t.csv", index_label=name, index=True)
    out = ("--out", tmp_path / "o", "--no-pictures")
    enough = ("--epsilon", 20, "--delta", 1e-6)  # to see a centre in a single column, too
    result = run("fit", tmp_path / "t.csv", *enough, "-k", 1, *choice, *out)
    assert (result.status, result.err) == (0, "")
    with np.load(tmp_path / "o" / "components.npz") as arrays:
        assert set(arrays["feature_names"]) <= {*NAMES}


def test_a_missing_ledger_is_never_made_anew(fit, tmp_path):
    result = fit("--ledger", tmp_path / "gone.ledger")
    assert is_one_line_error(result)
    assert "skdppca ledger create" in result.err and "PrivacyLedger" not in result.err
    assert not (tmp_path / "gone.ledger").exists()


def test_groups_become_the_unit(run, rows, budget, tmp_path):
    frame = pd.DataFrame(rows, columns=NAMES).assign(patient=np.arange(len(rows)) // 2)
    frame.to_parquet(tmp_path / "t.parquet")
    data = (tmp_path / "t.parquet", *budget, "--groups", "patient")
    assert run("fit", *data, "--out", tmp_path / "a").status == 0
    assert unit_in(tmp_path / "a") == "patient"
    with np.load(tmp_path / "a" / "components.npz") as arrays:
        assert tuple(arrays["feature_names"]) == NAMES
    assert run("fit", *data, "--unit", "person", "--out", tmp_path / "b").status == 0
    assert unit_in(tmp_path / "b") == "person"


@pytest.mark.parametrize("options", [("--unit", "patient"), ("--groups", "row")])
def test_a_unit_needs_groups_and_a_name(fit, options):
    assert is_one_line_error(fit(*options))


@pytest.mark.parametrize("unit", ["pa\udcfftient", "pa\x1b[2Jtient", "pa\ntient", "\x07"])
def test_a_unit_that_no_file_can_hold_is_refused_before_the_charge(fit, tmp_path, run, unit):
    ledger = tmp_path / "groups.ledger"
    run("ledger", "create", ledger, "--epsilon", 2, "--delta", 1e-6, "--unit", "person")
    result = fit("--groups", "age", "--unit", unit, "--ledger", ledger)
    assert is_one_line_error(result)
    assert "cannot be called" in result.err and result.err.rstrip("\n").isprintable()
    assert charges(ledger) == 0


def test_what_is_printed_of_a_path_cannot_steer_the_terminal(run, table, budget, tmp_path):
    out = tmp_path / "\x1b[2J\udcff"
    result = run("fit", table, *budget, "--no-pictures", "--out", out)
    assert result.status == 0
    assert r"\x1b[2J\udcff/: components.npz" in result.out and "\x1b" not in result.out
    assert {path.name for path in out.iterdir()} == FILES


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("-k", 9), "-k 9 is more than the 4 features; choose at most 4"),
        (("--epsilon", 0), "--epsilon: 0 leaves no budget"),
        (("--epsilon", -1), "--epsilon: -1 leaves no budget"),
        (("--delta", 1), "--delta: 1 promises nothing"),
        (("--delta", 0), "--delta 0 leaves no Gaussian noise"),
        (("--delta", 0, "--norm-bound", 9), "pass --norm-bound R and --no-center"),
        (("--delta", 0, "--method", "gauss"), "--delta 0 is a pure guarantee"),
        (("--norm-bound", 0), "--norm-bound: 0 is out of range"),
    ],
)
def test_invalid_parameters_are_refused_by_their_options(fit, ledger, options, says):
    result = fit("--ledger", ledger, *options)
    assert is_one_line_error(result)
    assert says in result.err
    assert charges(ledger) == 0


def test_names_that_the_terminal_cannot_spell_end_no_paid_fit(
    run, rows, budget, tmp_path, monkeypatch
):
    frame = pd.DataFrame(rows, columns=NAMES).assign(größe=np.arange(len(rows)))
    frame.to_parquet(tmp_path / "t.parquet")
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(said := io.BytesIO(), encoding="ascii"))
    result = run(
        *("fit", tmp_path / "t.parquet", *budget),
        *("--groups", "größe", "-k", 2, "--out", tmp_path / "out"),
    )
    assert result.status == 0
    assert b"gr\\xf6\\xdfe" in said.getvalue()


def test_the_demo_shows_the_digits(run, tmp_path):
    result = run("demo", "--out", tmp_path / "demo")
    assert result.status == 0
    assert "These data are public" in result.out
    assert {path.name for path in (tmp_path / "demo").iterdir()} == FILES
    assert 'id="picture-components"' in (tmp_path / "demo" / "report.html").read_text()


def test_the_demo_ends_on_a_page_that_can_be_trusted(run, tmp_path):
    out, ledger = tmp_path / "demo", tmp_path / "demo-digits.ledger"
    result = run("demo", "--out", out)
    assert f"skdppca verify {out} --ledger {ledger}" in result.out
    document = json.loads((out / "report.json").read_text())
    assert status_of(document) == "private"
    assert {*HAZARDS} <= {name for name, said in document["context"].items() if said}
    assert "public" in document["title"] and "digits are public" in document["context"]["purpose"]
    assert run("verify", out, "--ledger", ledger).status == 0


def test_another_demo_is_charged_to_the_same_ledger(run, tmp_path):
    for _ in range(2):
        assert run("demo", "--out", tmp_path / "demo", "--force").status == 0
    assert len(PrivacyLedger(tmp_path / "demo-digits.ledger").receipts) == 2


def test_the_demo_runs_where_no_report_can_be_written(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    result = run("demo", "--out", tmp_path / "demo")
    assert result.status == 0
    assert "These data are public" in result.out
    assert "No files were written" in result.out and how_to_install("report") in result.out
    assert not (tmp_path / "demo").exists()


def test_every_method_is_a_private_pca():
    methods = _fit_command.METHODS.values()
    assert all(issubclass(method, _fit_command.BasePrivatePCA) for method in methods)


@pytest.mark.parametrize(("first", "is_said"), [(0.99, True), (0.8, False)])
def test_a_component_of_one_feature_with_private_scales_asks_for_a_look_at_them(first, is_said):
    rest = np.sqrt((1 - first**2) / 2)
    pca = SimpleNamespace(components_=np.array([[rest, first, rest]]), scale="private")
    said = "\n".join(_units(pca, ["a", "TSH", "c"]))
    assert ("mostly 'TSH'" in said and "'scale' of components.csv" in said) is is_said
