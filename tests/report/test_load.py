"""A release directory comes back as the estimator that it was, bit for bit, or not at all."""

import json

import numpy as np
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
from skdppca.maps import projection_map
from skdppca.report import ReleaseReport, load, verify
from skdppca.report._contents import as_json, read_arrays

from .test_forgeries import hashed_again

PUBLIC = {"norm_bound": 30.0, "mean": [10.0, 10.0, 10.0, 10.0]}

FITS = {
    "gauss": DPGauss(2),
    "float32": DPGauss(2),
    "auto": PrivatePCA("auto", epsilon=3.0),
    "private scales": DPGauss(2, epsilon=4.0, scale="private"),
    "scales by column": DPGauss(2, epsilon=4.0, scale=["private", "private", 3.0, 1.0]),
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
    return read_arrays(out / "components.npz")


def put(out, arrays):
    """Replace the arrays of a release."""
    np.savez(out / "components.npz", **arrays)


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
    assert again.privacy_.receipts == pca.privacy_.receipts


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


def test_what_is_no_directory_of_a_pca_is_refused(made, frame, tmp_path):
    with pytest.raises(OSError, match="is not a directory"):
        load(tmp_path / "nowhere")
    own = PrivacyAccountant(3.0, 1e-6)  # the ledger of `made` is every test's
    chart = projection_map(made.pca, frame, epsilon=1.0, delta=1e-6, accountant=own)
    with pytest.raises(ValueError, match="releases no components"):
        load(written(chart, tmp_path / "map"))


def test_a_matrix_that_the_report_does_not_list_is_refused(made, tmp_path):
    out = written(made.free, tmp_path / "out")
    arrays = archive_of(out)
    put(out, {**arrays, "matrix_more": np.eye(2000)})
    hashed_again(out)
    found = verify(out)
    assert not found.agrees
    with pytest.raises(ValueError, match="do not agree"):
        load(out)


def test_a_matrix_that_is_declared_too_large_is_not_read(made, tmp_path):
    out = written(made.free, tmp_path / "out")
    document = json.loads((out / "report.json").read_text())
    for one in document["fit"]["core"]["released"]:
        if one["name"] == "matrix_scatter":
            one["shape"] = [20_000, 20_000]
    (out / "report.json").write_text(as_json(document))
    assert "take more than 2 GiB" in str(verify(out).findings[0].says)
    with pytest.raises(ValueError, match="do not agree"):
        load(out)


# How large a matrix may be.
