"""A private PCA on a cluster of two processes: run ``python examples/cluster/on_one_machine.py``.

On a real cluster only the first line of `main` differs: ``Client("tcp://scheduler:8786")``.
"""

import warnings

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from skdppca import PrivacyAccountant, PrivatePCA
from skdppca.exceptions import SeededNoiseWarning


def visits(part: int) -> np.ndarray:
    """Stand in for a file: 20 000 rows of a table, the same whenever they are asked for."""
    rng = np.random.default_rng(part)
    hidden = rng.normal(size=(20_000, 3))
    return hidden @ np.eye(3, 12) * 5 + rng.normal(size=(20_000, 12)) + 40


def main() -> None:
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address=None,
        ) as workers,
        Client(workers),
    ):
        parts = [dask.delayed(visits, pure=False)(part) for part in range(8)]
        X = da.concatenate(
            [da.from_delayed(part, (20_000, 12), float) for part in parts]
        )
        X = (
            X.persist()
        )  # on the workers, once; without it every pass makes the rows again

        accountant = PrivacyAccountant(epsilon=1.0, delta=1e-6)
        pca = PrivatePCA(
            3, epsilon=1.0, delta=1e-6, accountant=accountant, random_state=0
        )
        pca.fit(X)
        print(f"charges: {len(accountant.receipts)}")
        print(f"share of the variance: {pca.explained_variance_ratio_.sum():.2f}")

        scores = pca.transform(X)  # a dask array: nothing is computed yet
        print(f"variance of the scores: {scores.var(axis=0).compute().round(1)}")


if __name__ == "__main__":
    warnings.simplefilter(
        "ignore", SeededNoiseWarning
    )  # made-up rows need no privacy
    main()
