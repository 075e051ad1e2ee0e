"""The pictures of every kind of release follow from its files, and hold what is allowed alone."""

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skdppca import KDPPCA, DPGauss, DPPowerMethod, PrivacyAccountant, PrivatePCA
from skdppca.maps import projection_map
from skdppca.model_selection import PrivateSearchCV
from skdppca.report import Context, ReleaseReport, declare, verify

# Each draws pictures or writes long files; `tests/cli/test_verify.py` has quick forgeries.
pytestmark = pytest.mark.slow

ROWS = np.random.default_rng(0).standard_normal((400, 6)) * [6, 5, 4, 3, 2, 1]
FRAME = pd.DataFrame(ROWS, columns=list("abcdef"))
PURE = {"delta": 0.0, "norm_bound": 9.0, "center": False, "epsilon": 2.0}


def with_a_map():
    accountant = PrivacyAccountant(3.0, 1e-6)
    pca = DPGauss(2, accountant=accountant).fit(FRAME)
    limits = {"epsilon": 0.5, "delta": 1e-6, "extent": [(-9, 9)] * 2}
    return [pca, projection_map(pca, FRAME, accountant=accountant, **limits)]


RELEASES = {
    "rows without names": lambda: DPGauss(2).fit(ROWS),
    "float32": lambda: DPGauss(2).fit(FRAME.astype(np.float32)),
    "private scales": lambda: DPGauss(2, scale="private").fit(FRAME),
    "public scales": lambda: DPGauss(2, scale=[6.0, 5, 4, 3, 2, 1]).fit(FRAME),
    "missing": lambda: DPGauss(2, missing="mean").fit(FRAME.mask(FRAME > 9)),
    "seeded": lambda: DPGauss(2, random_state=0).fit(FRAME),
    "no noise": lambda: DPGauss(2, epsilon=np.inf).fit(FRAME),
    "pure": lambda: PrivatePCA(2, **PURE).fit(FRAME),
    "groups": lambda: DPGauss(2, unit="person").fit(FRAME, groups=np.arange(400) // 2),
    "replace-one": lambda: DPGauss(2, adjacency="replace-one").fit(FRAME),
    "no spectrum": lambda: KDPPCA(2).fit(FRAME),
    "power": lambda: DPPowerMethod(2).fit(FRAME),
    "lost in the noise": lambda: DPGauss(6, epsilon=0.1).fit(FRAME),
    "search": lambda: PrivateSearchCV(DPGauss(), {"n_components": [1, 2]}).fit(FRAME),
    "pipeline": lambda: make_pipeline(StandardScaler(), DPGauss(2)).fit(FRAME),
    "map": with_a_map,
}


@pytest.mark.parametrize("release", RELEASES.values(), ids=RELEASES)
def test_an_honest_release_passes_with_its_pictures(release, tmp_path):
    ReleaseReport(release()).write(tmp_path / "out")
    found = verify(tmp_path / "out")
    assert found.passed, str(found)
    assert "Pictures not checked" not in found.notes[2]
    assert "scree.svg" not in found.notes[2] and "loadings.svg" not in found.notes[2]


def test_images_are_drawn_again_from_the_shape_of_a_row(tmp_path):
    ReleaseReport(DPGauss(2).fit(ROWS), image_shape=(2, 3)).write(tmp_path / "first")
    declare(tmp_path / "first", tmp_path / "out", context=Context(region="Anytown"))
    found = verify(tmp_path / "out")
    assert found.passed and "components.svg" not in found.notes[2]
    assert (tmp_path / "out" / "components.svg").is_file()


def test_a_map_alone_passes_with_the_ledger_that_it_was_charged_to(tmp_path):
    accountant = PrivacyAccountant(3.0, 1e-6)
    pca = DPGauss(2, accountant=accountant).fit(FRAME)
    found = projection_map(pca, FRAME, epsilon=0.5, delta=1e-6, extent=[(-9, 9)] * 2)
    ReleaseReport(found).write(tmp_path / "out")
    checked = verify(tmp_path / "out", ledger=accountant)
    assert checked.passed and 3 in checked.levels, str(checked)
