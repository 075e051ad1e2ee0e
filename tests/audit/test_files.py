"""The replay audit of fits to tables in files, in pieces that neighbours cut elsewhere."""

import numpy as np
import pandas as pd
import pyarrow.dataset as ds
import pytest

from skdppca.decomposition import METHODS
from skdppca.out_of_core import files as reader

from .replay import audit
from .test_replay import pairs

CASES = [
    pytest.param(name, container, adjacency, marks=pytest.mark.slow if i != 4 else ())
    for i, (name, container, adjacency) in enumerate(
        (name, container, adjacency)
        for name in ("DPGauss", "ResidualGauss", "KDPPCA", "DPPowerMethod")
        for container in ("float32", "dense", "groups")
        for adjacency in ("add-remove", "replace-one")
    )
]


@pytest.mark.parametrize(("name", "container", "adjacency"), CASES)
def test_neighbouring_files_cannot_be_told_apart(name, container, adjacency, tmp_path, monkeypatch):
    monkeypatch.setattr(reader, "PIECE_ENTRIES", 160)
    monkeypatch.setattr(reader, "KEPT_ENTRIES", 0)

    def fit(X, groups):
        frame = pd.DataFrame(np.asarray(X)).rename(columns=str)
        if groups is not None:
            frame["who"] = groups
        frame.to_parquet(tmp_path / "t.parquet", index=False, row_group_size=13)
        unit = {} if groups is None else {"unit": "patient"}
        pca = METHODS[name].estimator(2, epsilon=20.0, adjacency=adjacency, random_state=0, **unit)
        return pca.fit(ds.dataset(tmp_path / "t.parquet"), groups=groups if not unit else "who")

    for data, neighbours in pairs(container, adjacency):
        run = audit(fit, data, neighbours)
        assert run.error is None and run.queries
