"""Which X is a pyarrow dataset; nothing here imports pyarrow."""

from __future__ import annotations

from typing import Any

# What of pyarrow may be read only once.
ONCE = ("Scanner", "RecordBatchReader")


def is_dataset(X: Any) -> bool:
    """Whether X is a `pyarrow.dataset.Dataset`.

    Raises
    ------
    TypeError
        If it is what a dataset is read with, which ends after one pass.
    """
    for kind in type(X).__mro__:
        if kind.__module__.partition(".")[0] == "pyarrow":
            if kind.__name__ in ONCE:
                raise TypeError(
                    f"X is a pyarrow {kind.__name__}, which can be read once, and fit reads X "
                    "several times; give the pyarrow.dataset.Dataset itself"
                )
            if kind.__name__ == "Dataset":
                return True
    return False


def check_no_dataset(X: Any) -> None:
    """Refuse a dataset where rows are read that may not fit into memory."""
    if is_dataset(X):
        raise TypeError(
            "X is a pyarrow Dataset, which only fit reads; give its rows batch by batch, for "
            "example: for batch in X.to_batches(columns=[*pca.feature_names_in_]): "
            "pca.transform(batch.to_pandas())"
        )
