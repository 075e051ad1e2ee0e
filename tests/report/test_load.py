"""A release directory comes back as the estimator that it was, bit for bit, or not at all."""

import io
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from skdppca import (
    GDPPCA,
    KDPPCA,
    DPGauss,
    DPPowerMethod,
    PrivacyAccountant,
    PrivatePCA,
    ResidualGauss,
    SmoothSensitivityPCA,
)
from skdppca.cli._fit_command import _matrix_columns, _size
from skdppca.maps import projection_map
from skdppca.privacy import Released
from skdppca.report import ReleaseReport, load, verify
from skdppca.report._archive import read_archive, write_archive
from skdppca.report._sizes import archived, most_bytes

from .test_forgeries import forge, manifest_again, named

PUBLIC = {"norm_bound": 30.0, "mean": [10.0, 10.0, 10.0, 10.0]}

FITS = {
    "gauss": DPGauss(2),
    "float32": DPGauss(2),
    "auto": PrivatePCA("auto", epsilon=3.0),
    "private scales": DPGauss(2, epsilon=4.0, scale="private"),
    "public scales": DPGauss(2, scale=[1.0, 2.0, 3.0, 4.0], whiten=True),
    "missing": DPGauss(2, epsilon=3.0, missing="mean"),
    "exchange": DPGauss(2, adjacency="replace-one"),
    "no noise": DPGauss(3, epsilon=np.inf),
    "heavy": DPGauss(2, clip="spherical"),
    "residual": ResidualGauss(2),
    "kendall": GDPPCA(2, kernel="winsorized", kernel_bound=3.0),
    "power": DPPowerMethod(2),
    "kdppca": KDPPCA(2, variance_share=0),
    "smooth": SmoothSensitivityPCA(2, **PUBLIC),
}


def written(pca, out, **words):
    ReleaseReport(pca, pictures=False, **words).write(out)
    return out


def archive_of(out):
    return read_archive((out / "components.npz").read_bytes())


def put(out, arrays):
    """Replace the arrays of a release."""
    file = io.BytesIO()
    write_archive(arrays, file)
    (out / "components.npz").write_bytes(file.getvalue())


@pytest.mark.filterwarnings("ignore::skdppca.exceptions.CentreNotSeenWarning")
@pytest.mark.parametrize("kind", FITS)
def test_a_fit_comes_back_bit_for_bit(kind, frame, tmp_path):
    rows = frame.astype(np.float32) if kind == "float32" else frame
    pca = FITS[kind].fit(rows)
    again = load(written(pca, tmp_path / "out"))
    assert type(again) is type(pca)
    assert set(vars(again)) == set(vars(pca))
    for name, value in vars(pca).items():
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            stored = vars(again)[name]
            assert stored.dtype == value.dtype and stored.tobytes() == value.tobytes(), name
    assert again.n_samples_ == pca.n_samples_ and again.n_components_ == pca.n_components_
    assert again.privacy_.to_dict() == pca.privacy_.to_dict()
    assert list(again.feature_names_in_) == list(frame.columns)
    assert np.array_equal(again.transform(rows), pca.transform(rows))
    given = {k: v for k, v in pca.get_params().items() if k not in ("mean", "scale")}
    assert {k: v for k, v in again.get_params().items() if k not in ("mean", "scale")} == given


def test_what_no_file_holds_is_as_by_default(frame, tmp_path):
    accountant = PrivacyAccountant(3.0, 1e-6)
    pca = DPGauss(2, accountant=accountant, n_jobs=2, verbose=0).fit(frame)
    again = load(written(pca, tmp_path / "out"))
    assert again.accountant is None and again.n_jobs is None
    assert again.privacy_.receipt == pca.privacy_.receipt


def test_its_arrays_cannot_be_written_to(made):
    again = load(made.folder / "out")
    arrays = [value for value in vars(again).values() if isinstance(value, np.ndarray)]
    assert len(arrays) > 5
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_rows_without_names_give_a_fit_without_names(frame, tmp_path):
    pca = DPGauss(2).fit(frame.to_numpy())
    again = load(written(pca, tmp_path / "out", feature_names=list(frame.columns)))
    assert not hasattr(again, "feature_names_in_")
    assert np.array_equal(again.transform(frame.to_numpy()), pca.transform(frame.to_numpy()))


def test_a_changed_file_is_refused(out):
    (out / "components.csv").write_text("mine")
    with pytest.raises(ValueError, match="do not agree, so nothing is made of them"):
        load(out)


def test_what_was_changed_after_it_was_verified_is_refused(out, monkeypatch):
    def changing(path):
        found = verify(path)
        (path / "components.npz").write_bytes(b"mine")
        return found

    monkeypatch.setattr("skdppca.report._load.verify", changing)
    with pytest.raises(ValueError, match="was changed while it was read"):
        load(out)


def test_what_is_no_directory_of_one_pca_is_refused(made, frame, tmp_path):
    with pytest.raises(OSError, match="is not a directory"):
        load(tmp_path / "nowhere")
    both = written([made.pca, made.free], tmp_path / "both")
    with pytest.raises(ValueError, match="holds 2 releases"):
        load(both)
    own = PrivacyAccountant(3.0, 1e-6)  # the ledger of `made` is every test's
    chart = projection_map(made.pca, frame, epsilon=1.0, delta=1e-6, accountant=own)
    with pytest.raises(ValueError, match="releases no components"):
        load(written(chart, tmp_path / "map"))


# A forger who can make every hash right again makes the matrix what no fit releases.

FORGED = {
    "missing": lambda arrays: arrays.pop("matrix_mean"),
    "too small": lambda arrays: arrays.update(matrix_scatter=np.eye(3)),
    "for other columns": lambda arrays: arrays.update(
        matrix_scatter=np.eye(3),
        **{f"matrix_{n}": np.ones(3) for n in ("mean", "units", "present")},
    ),
    "not finite": lambda arrays: arrays.update(matrix_scatter=np.full((4, 4), np.nan)),
    "not symmetric": lambda arrays: arrays.update(matrix_scatter=np.triu(np.ones((4, 4)))),
    "without weight": lambda arrays: arrays.update(
        matrix_numbers=np.zeros_like(arrays["matrix_numbers"])
    ),
    "not a number": lambda arrays: arrays.update(
        matrix_numbers=np.full_like(arrays["matrix_numbers"], np.nan)
    ),
}


@pytest.fixture
def forged(frame, tmp_path):
    """A release whose arrays were changed, and all that vouches for them was made again."""

    def forge_arrays(change):
        pca = DPGauss(2).fit(frame)
        out = written(pca, tmp_path / "out")
        arrays = archive_of(out)
        change(arrays)
        put(out, arrays)
        hashes = [Released.of(k, v) for k, v in arrays.items() if k != "feature_names"]
        forge(out, replace(pca.privacy_, released=tuple(hashes)))
        return out

    return forge_arrays


@pytest.mark.parametrize("change", FORGED.values(), ids=FORGED)
def test_a_forged_matrix_is_refused(forged, change):
    out = forged(change)
    found = verify(out)
    assert named(found) == {"matrix"}, str(found)
    with pytest.raises(ValueError, match="do not agree"):
        load(out)


def test_a_matrix_that_the_report_does_not_list_is_refused(made, tmp_path):
    out = written(made.free, tmp_path / "out")
    arrays = archive_of(out)
    put(out, {**arrays, "matrix_more": np.eye(2000)})
    manifest_again(out)
    found = verify(out)
    assert not found.passed
    with pytest.raises(ValueError, match="do not agree"):
        load(out)


def test_a_matrix_that_is_declared_too_large_is_not_read(made, tmp_path):
    out = written(made.free, tmp_path / "out")
    document = json.loads((out / "report.json").read_text())
    for one in document["fits"][0]["core"]["released"]:
        if one["name"] == "matrix_scatter":
            one["shape"] = [20_000, 20_000]
    (out / "report.json").write_text(json.dumps(document))
    assert "take more than 2 GiB" in str(verify(out).findings[0].says)
    with pytest.raises(ValueError, match="do not agree"):
        load(out)


# How large a matrix may be.


def test_the_limits_of_a_check_know_the_matrix(tmp_path):
    rng = np.random.default_rng(0)
    names = [f"c{i}" for i in range(300)]
    pca = DPGauss(2, epsilon=8.0).fit(pd.DataFrame(rng.standard_normal((2500, 300)), columns=names))
    out = written(pca, tmp_path / "out")
    document = json.loads((out / "report.json").read_text())
    text = (out / "report.json").read_text()
    most = most_bytes(document, [pca.privacy_], len(text))
    held = (out / "components.npz").stat().st_size
    assert 8 * 300**2 < held <= most["components.npz"] < held + 2**20
    assert verify(out).passed


def test_what_is_held_for_a_release_covers_its_matrix():
    names = [f"x{i}" for i in range(2000)]
    matrix = Released("matrix_scatter", (2000, 2000), "float64", "")
    held = _size(names, 1, _matrix_columns(names, grows=False))
    assert held >= archived([matrix]) - 2**20 >= 2000**2 * 8 - 2**20


def test_beyond_2000_columns_the_matrix_of_a_release_that_grows_alone_is_kept():
    names = [f"x{i}" for i in range(2001)]
    assert _matrix_columns(names, grows=False) == 0
    assert _matrix_columns(names, grows=True) == 2001


def test_a_matrix_that_no_release_holds_is_refused_with_what_to_do():
    with pytest.raises(ValueError, match="keep_matrix=False"):
        archived([Released("matrix_scatter", (17_000, 17_000), "float64", "")])
