import json

import numpy as np
import pandas as pd
import pytest

from skdppca import GDPPCA, DPGauss
from skdppca.cli import _sample_command
from skdppca.neighbors import PrivateNearestCentroid
from skdppca.report import ReleaseReport, verify

from .conftest import NAMES, assert_refused


@pytest.fixture
def draw(run, release, tmp_path):
    """Draw ten rows into ``rows.csv``, or what other options say."""

    def command(*more, out=tmp_path / "rows.csv", n=10):
        return run("sample", release, "-n", n, "-o", out, *more)

    return command


def written(pca, out):
    """Write a release that no command line would make."""
    ReleaseReport(pca, feature_names=NAMES, pictures=False).write(out)


@pytest.mark.parametrize("scale", [(), ("--scale", "private")])
def test_the_rows_are_those_of_the_fitted_estimator(run, fit, tmp_path, monkeypatch, scale):
    kept = []

    def keeping(pca, *args, **more):
        kept.append(pca)
        return ReleaseReport(pca, *args, **more)

    monkeypatch.setattr("skdppca.cli._fit_command.ReleaseReport", keeping)
    assert fit(*scale).status == 0
    run("sample", tmp_path / "out", "-n", 7, "-o", tmp_path / "rows.csv", "--seed", 3)
    rows = pd.read_csv(tmp_path / "rows.csv").to_numpy()
    np.testing.assert_allclose(rows, kept[0].sample(7, random_state=3), rtol=1e-12)


def test_public_scales_are_read_from_the_report(run, rows, tmp_path):
    pca = DPGauss(2, scale=[1.0, 20.0, 3.0, 4.0]).fit(rows)
    written(pca, tmp_path / "out")
    run("sample", tmp_path / "out", "-n", 7, "-o", tmp_path / "rows.csv", "--seed", 3)
    drawn = pd.read_csv(tmp_path / "rows.csv").to_numpy()
    np.testing.assert_allclose(drawn, pca.sample(7, random_state=3), rtol=1e-12)


def test_more_rows_than_are_written_at_a_time_are_the_same_rows(draw, tmp_path, monkeypatch):
    draw("--seed", 0, out=tmp_path / "whole.csv")
    monkeypatch.setattr(_sample_command, "BATCH_ROWS", 3)
    draw("--seed", 0, out=tmp_path / "parts.csv")
    whole, parts = (
        np.loadtxt(tmp_path / f"{name}.csv", delimiter=",", skiprows=1)
        for name in ("whole", "parts")
    )
    np.testing.assert_allclose(parts, whole)


def test_rows_of_a_release_without_privacy_say_so(run, fit, tmp_path):
    fit("--epsilon", "inf")
    result = run("sample", tmp_path / "out", "-n", 2, "-o", tmp_path / "rows.csv")
    assert "NOT PRIVATE" in result.out and "not charged" not in result.out
    label = json.loads((tmp_path / "rows.csv.json").read_text())
    assert label["release"]["private"] is False


@pytest.mark.parametrize("name", ["rows.csv", "rows.csv.json"])
@pytest.mark.parametrize("force", [(), ("--force",)])
def test_a_file_that_is_not_synthetic_is_never_replaced(draw, tmp_path, name, force):
    (tmp_path / name).write_text("{}")
    assert_refused(draw(*force), name)
    assert (tmp_path / name).read_text() == "{}"


def test_earlier_rows_are_replaced_by_force_only(draw, tmp_path):
    draw()
    before = (tmp_path / "rows.csv").read_text()
    assert_refused(draw(), "--force")
    assert (tmp_path / "rows.csv").read_text() == before
    assert draw("--force").status == 0
    assert (tmp_path / "rows.csv").read_text() != before


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (("out", "-n", 0, "-o", "rows.csv"), "whole number of at least 1"),
        (("out", "-n", -3, "-o", "rows.csv"), "whole number of at least 1"),
        (("out", "-n", "many", "-o", "rows.csv"), "skdppca sample --help"),
        (("out", "-n", 2, "-o", "rows.parquet"), "must end in .csv"),
        (("out", "-n", 2, "-o", "nowhere/rows.csv"), "make it first"),
        (("none", "-n", 2, "-o", "rows.csv"), "skdppca fit"),
    ],
)
def test_what_cannot_be_drawn_is_refused(run, release, tmp_path, monkeypatch, given, says):
    monkeypatch.chdir(tmp_path)
    assert_refused(run("sample", *given), says)
    assert not list(tmp_path.glob("rows*"))


def test_a_release_that_was_changed_gives_no_rows(draw, release, tmp_path):
    path = release / "components.csv"
    path.write_text(path.read_text().replace("age", "ages"))
    result = draw()
    assert result.status == 1 and "differ" in result.out
    assert not list(tmp_path.glob("rows*"))


def test_a_release_without_variances_says_why_it_has_no_law(run, rows, tmp_path):
    written(GDPPCA(2, variance_share=0).fit(rows), tmp_path / "out")
    result = run("sample", tmp_path / "out", "-n", 2, "-o", tmp_path / "rows.csv")
    assert_refused(result, "GDPPCA does not release")
    assert not list(tmp_path.glob("rows*")) and not list(tmp_path.glob("unfinished*"))


def test_a_release_without_components_is_refused(run, rows, tmp_path):
    model = PrivateNearestCentroid(["a", "b"]).fit(
        rows, np.array(["a", "b"])[np.arange(len(rows)) % 2]
    )
    ReleaseReport(model, pictures=False).write(tmp_path / "out")
    ended = run("sample", tmp_path / "out", "-n", 7, "-o", tmp_path / "rows.csv")
    assert_refused(ended, "releases no components")


def test_rows_label_and_terminal_say_the_same(draw, release, tmp_path):
    said = draw("--seed", 5).out
    table = pd.read_csv(tmp_path / "rows.csv")
    assert tuple(table.columns) == NAMES and table.shape == (10, 4)
    assert all(dtype == np.float64 for dtype in table.dtypes)
    label = json.loads((tmp_path / "rows.csv.json").read_text())
    report = verify(release).report
    assert label["synthetic"] is True
    assert (label["file"], label["rows"], label["seed"]) == ("rows.csv", 10, 5)
    assert label["release"]["id"] == report.release_id
    assert label["release"]["guarantee"] == report.guarantee()
    assert "mean" in label["kept"] and "bounds" in label["not_kept"]
    assert "Synthetic" in said and "not charged" in said
    for part in (label["kept"], label["not_kept"], label["release"]["id"]):
        assert part in said
