"""Whether seeded fits are the same, to the bit, as those of an earlier commit.

    python benchmarks/same_bits.py COMMIT           # compare; exit 1 where something differs
    python benchmarks/same_bits.py COMMIT --but explained_variance_ noise_variance_

Names after ``--but`` are not compared. Both commits run here, so the comparison says nothing about
other processors.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Set
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

HERE = Path(__file__).resolve()
# What names one fit, the code that made it, or its reasons, and no number of it.
UNLIKE = {
    "why",
    "axes_release",
    "release_id",
    "receipt",
    "software",
    "when",
    "time",
    "date",
    "random_state",
    "accountant",
}
# Keywords of every fit of the grid; of what an estimator refuses, the kind of error is compared.
SETTINGS: tuple[dict[str, Any], ...] = (
    {},
    {"epsilon": 8.0, "n_components": 3},
    {"adjacency": "replace-one"},
    {"center": False},
    {"norm_bound": 6.0, "mean": np.full(12, 0.5)},
    {"scale": "private"},
    {"n_components": 0.8, "whiten": True},
    {"tails": "heavy", "n_jobs": 2},
    {"delta": 0.0, "mean": np.zeros(12), "norm_bound": 9.0},
    {"epsilon": np.inf},
)


def tables(folder: Path) -> Iterator[tuple[str, Any, dict[str, Any], dict[str, Any]]]:
    """Name, X, what `fit` takes beside it, and keywords of the estimator."""
    import pyarrow as pa
    import pyarrow.dataset as ds
    import pyarrow.parquet as pq

    rng = np.random.default_rng(20260101)
    spread = 1 / np.sqrt(np.arange(1.0, 13))
    rows = rng.standard_normal((900, 12)) * spread + 0.5
    yield "rows", rows, {}, {}
    yield "single precision", rows.astype(np.float32), {}, {}
    yield "many rows", rng.standard_normal((20_000, 12)) * spread + 0.5, {}, {}
    yield "wide rows", rng.standard_normal((700, 90)) / np.sqrt(np.arange(1.0, 91)), {}, {}
    yield "few rows", rows[:60], {}, {}
    yield "skewed rows", rng.lognormal(0.0, 1.0, (900, 12)), {}, {}
    counts = rng.poisson(0.3, (900, 12)).astype(float)
    yield "sparse counts", sparse.csr_array(counts), {}, {}
    missing = np.where(rng.random(rows.shape) < 0.1, np.nan, rows)
    yield "missing", missing, {}, {"missing": "mean"}
    whose = np.repeat(np.arange(300), 3)
    yield "groups", rows, {"groups": whose}, {"unit": "person"}
    table = pa.table({f"x{i}": rows[:, i] for i in range(12)})
    pq.write_table(table.append_column("who", pa.array(whose)), folder / "rows.parquet")
    names = [f"x{i}" for i in range(12)]
    dataset = ds.dataset(folder / "rows.parquet")
    yield "file", ds.dataset(_written(folder, table.select(names))), {}, {}
    yield "groups in a file", dataset, {"groups": "who"}, {"unit": "person"}


def _written(folder: Path, table: Any) -> Path:
    import pyarrow.parquet as pq

    pq.write_table(table, folder / "alone.parquet")
    return folder / "alone.parquet"


def cases(folder: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What is compared: a name, and a fit or the like."""
    from skdppca import PrivatePCA, merge
    from skdppca.decomposition import METHODS
    from skdppca.maps import projection_map
    from skdppca.model_selection import PrivateSearchCV
    from skdppca.neighbors import PrivateNearestCentroid
    from skdppca.planner import plan

    estimators = {name: method.estimator for name, method in METHODS.items()}
    estimators["PrivatePCA"] = PrivatePCA
    given = list(tables(folder))
    for name, estimator in estimators.items():
        for table, X, fit, more in given:
            for i, setting in enumerate(SETTINGS):
                values = {"n_components": 2, "epsilon": 1.0, "delta": 1e-6} | setting | more
                taken = estimator().get_params().keys() & values.keys()
                pca = estimator(**{key: values[key] for key in taken}, random_state=i)
                yield f"{name}, {table}, {setting}", partial(pca.fit, X, **fit)

    rows, y = given[0][1], given[0][1][:, 0] > 0.5

    def grown(e: Any) -> Any:
        pca = e(2, epsilon=1.0, delta=1e-6, random_state=0)
        return pca.partial_fit(rows[:400], cohort="a").partial_fit(rows[400:], cohort="b")

    for name in ("DPGauss", "PrivatePCA"):
        yield f"{name}, two cohorts", partial(grown, estimators[name])
        two = [estimators[name](2, delta=1e-6, random_state=i).fit(rows[i::2]) for i in range(2)]
        yield f"{name}, merged", partial(merge, two)
    pca = PrivatePCA(2, delta=1e-6, random_state=0).fit(rows)
    cost = {"epsilon": 1.0, "delta": 1e-6, "random_state": 0}
    yield "map", lambda: projection_map(pca, rows, **cost)
    yield "map of labels", lambda: projection_map(pca, rows, y=y, classes=[False, True], **cost)
    yield "centroids", lambda: PrivateNearestCentroid([False, True], random_state=0).fit(rows, y)
    grid = {"n_components": [1, 2]}
    yield "search", lambda: PrivateSearchCV(PrivatePCA(delta=1e-7), grid, random_state=0).fit(rows)
    for more in ({}, {"group_size": 3}, {"tails": "heavy"}, {"scale": "private"}):
        yield f"plan {more}", partial(plan, 800, 12, 2, **more)


def bits(value: Any, seen: tuple[int, ...] = ()) -> Any:
    """All numbers and words of what was released, identifiers aside."""
    if isinstance(value, np.ndarray | np.generic):
        array = np.ascontiguousarray(value)
        content = array.tobytes() if array.dtype != object else repr(array.tolist()).encode()
        return [str(array.dtype), list(array.shape), hashlib.sha256(content).hexdigest()[:16]]
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, dict):
        return {str(key): bits(one, seen) for key, one in value.items() if key not in UNLIKE}
    if isinstance(value, list | tuple):
        return [bits(one, seen) for one in value]
    if value is None or isinstance(value, str | int | bool):
        return value
    if type(value).__module__.startswith("skdppca") and id(value) not in seen:
        return bits(vars(value), (*seen, id(value)))
    return type(value).__name__


def without(value: Any, names: Set[str]) -> Any:
    """The same bits, less those of these names, at any depth."""
    if isinstance(value, dict):
        return {key: without(one, names) for key, one in value.items() if key not in names}
    return [without(one, names) for one in value] if isinstance(value, list) else value


def found() -> dict[str, Any]:
    """Case -> the bits of what comes out."""
    results = {}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, case in cases(Path(folder)):
            try:
                results[name] = bits(case())
            except (ValueError, TypeError, AttributeError) as error:
                results[name] = type(error).__name__
    return results


@contextmanager
def checked_out(commit: str) -> Iterator[Path]:
    """The files of a commit, for as long as they are needed."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "then"
        git = ["git", "-C", str(HERE.parent.parent)]
        subprocess.run([*git, "worktree", "add", "--detach", "-q", str(tree), commit], check=True)
        try:
            yield tree
        finally:
            subprocess.run([*git, "worktree", "remove", "--force", str(tree)], check=True)


def found_in(tree: Path) -> dict[str, Any]:
    """What the code of a tree makes of today's cases."""
    environment = os.environ | {"PYTHONPATH": str(tree), "SKDPPCA_CACHE": ""}
    command = [sys.executable, str(HERE), "--print"]
    done = subprocess.run(command, env=environment, capture_output=True, check=True, text=True)
    return dict(json.loads(done.stdout))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("commit", nargs="?", default="HEAD")
    parser.add_argument("--but", nargs="*", default=[], metavar="NAME")
    parser.add_argument("--print", action="store_true")
    given = parser.parse_args()
    if given.print:
        print(json.dumps(found()))
        return 0
    with checked_out(given.commit) as tree:
        before, now = found_in(tree), found_in(HERE.parent.parent)
    but = set(given.but)
    differ = [name for name in now if without(now[name], but) != without(before.get(name), but)]
    refused = sum(isinstance(one, str) for one in now.values())
    print(f"{len(now)} cases, {refused} of them refused; {len(differ)} differ from {given.commit}")
    for name in differ:
        print(f"  {name}")
    return bool(differ)


if __name__ == "__main__":
    sys.exit(main())
