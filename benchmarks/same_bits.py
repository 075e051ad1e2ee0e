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
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import partial
from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct, structs
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


def containers(rows: np.ndarray, folder: Path) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Yield the name of a container, a table in it, and keywords of the estimator."""
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    import pyarrow.dataset as ds
    import pyarrow.feather as feather

    frame = pd.DataFrame(rows, columns=[f"x{i}" for i in range(rows.shape[1])])
    holes = frame.mask(np.random.default_rng(1).random(rows.shape) < 0.1)
    whole = (100 * frame).round().astype("int64")
    who = np.repeat(np.arange(len(rows) // 3), 3)
    fill = {"missing": "mean"}
    yield "pandas", frame, {}
    yield "pandas, integers and booleans", whole.assign(x3=frame.x3 > 0), {}
    yield "pandas, nullable", holes.convert_dtypes(), fill
    yield "pandas, numbers as objects", frame.astype(object), {}
    yield "pandas, sparse", frame.astype(pd.SparseDtype(float, 0.0)), {}
    yield "pandas, a text", frame.assign(x3="a"), {}
    yield "pandas, a date", frame.assign(x3=pd.Timestamp(0)), {}
    yield "pandas, a label", frame.assign(patient_id=who), {}
    yield "polars", pl.DataFrame(rows, schema=list(frame)), {}
    yield "polars, nulls", pl.from_pandas(holes), fill
    yield "pyarrow", pa.Table.from_pandas(frame), {}
    yield "pyarrow, nulls", pa.Table.from_pandas(holes), fill
    yield "list", rows.tolist(), {}
    yield "sparse by column", sparse.csc_array(np.where(rows > 0.5, rows, 0.0)), {}
    yield "sparse coordinates", sparse.coo_array(np.where(rows > 0.5, rows, 0.0)), {}
    if find_spec("dask"):
        import dask.array as da
        import dask.dataframe as dd

        yield "dask array", da.from_array(rows, chunks=(200, rows.shape[1])), {}
        yield "dask frame", dd.from_pandas(frame, npartitions=3), {}
        yield "dask frame, holes", dd.from_pandas(holes, npartitions=3), fill
    feather.write_feather(holes, folder / "holes.feather")
    yield "feather, holes", ds.dataset(folder / "holes.feather", format="feather"), fill


def shell_tables(rows: np.ndarray, folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the name of a table in files, and the words of the shell that fit it."""
    import pandas as pd

    frame = pd.DataFrame(rows, columns=[f"x{i}" for i in range(rows.shape[1])])
    holes = frame.mask(np.random.default_rng(1).random(rows.shape) < 0.1)
    who = np.repeat(np.arange(len(rows) // 3), 3)
    (folder / "parts").mkdir()
    frame.to_csv(folder / "commas.csv", index=False)
    frame.to_csv(folder / "decimals.csv", index=False, sep=";", decimal=",")
    frame.to_csv(folder / "bare.csv", index=False, header=False)
    holes.to_csv(folder / "holes.csv", index=False)
    frame.assign(who=[f"P{one:03}" for one in who]).to_csv(folder / "who.csv", index=False)
    frame.assign(x3="high").to_csv(folder / "text.csv", index=False)
    frame.to_parquet(folder / "rows.parquet", index=False)
    for i in range(3):
        frame[300 * i : 300 * (i + 1)].to_csv(folder / f"parts/{i}.csv", index=False)
    np.save(folder / "rows.npy", rows)
    yield "csv", ["commas.csv"]
    yield "csv of decimal commas", ["decimals.csv", "--delimiter", ";", "--decimal", ","]
    yield "csv without names", ["bare.csv", "--no-header"]
    yield "csv with holes", ["holes.csv", "--missing", "mean"]
    yield "csv with holes that are not declared", ["holes.csv"]
    yield "csv of groups", ["who.csv", "--groups", "who"]
    yield "csv with a text", ["text.csv"]
    yield "csv without the text", ["text.csv", "--drop", "x3"]
    yield "csv in parts", ["parts"]
    yield "Parquet", ["rows.parquet", "--columns", "x1,x2,x5"]
    yield "npy", ["rows.npy"]


def fitted_by_shell(words: list[str], folder: Path) -> Any:
    """Return the arrays of a release that the shell made without noise, or its exit status."""
    from skdppca.cli import main as shell

    out = Path(tempfile.mkdtemp(dir=folder)) / "out"
    price = ["-k", "2", "--epsilon", "inf", "--delta", "1e-6", "--unit", "row", "--out", str(out)]
    price.append("--no-pictures")
    if "--groups" in words:
        price[price.index("row")] = "person"
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        try:
            status = shell(["fit", str(folder / words[0]), *words[1:], *price])
        except SystemExit as ended:
            status = ended.code
    if status:
        return f"exit status {status}"
    with np.load(out / "components.npz") as arrays:
        return dict(arrays)


def fitted_over_sites(pca: Any, rows: np.ndarray, folder: Path) -> Any:
    """Return an estimator that is fitted over three sites, with the same noise each time."""
    from skdppca import PrivacyLedger
    from skdppca.federated import Identity, LocalSites, Policy, Site, Study, fit_sites
    from skdppca.noise import NoiseSource

    home = Path(tempfile.mkdtemp(dir=folder))
    analyst = Identity.create(home / "analyst.key")
    keys = {name: Site.prepare(home / name).public for name in ("east", "north", "south")}
    study = Study("study", sites=keys, columns=rows.shape[1])
    for i, name in enumerate(keys):
        np.save(home / name / "table.npy", rows[i::3])
        PrivacyLedger.create(home / name / "study.ledger", epsilon=2.0, delta=1e-5)
        policy = {"name": name, "study": study, "analysts": (analyst.public,), "table": "table.npy"}
        policy |= {"max_epsilon": 1.0, "max_delta": 1e-5, "approval": "automatic"}
        known = {key: policy[key] for key in policy.keys() & signature(Policy).parameters.keys()}
        Policy(**known).write(home / name / "site.json")
    for module in [one for name, one in sys.modules.items() if "skdppca.federated" in name]:
        if hasattr(module, "NoiseSource"):
            module.NoiseSource = lambda **key: NoiseSource(0)  # type: ignore[attr-defined]
    sites = LocalSites([Site(home / name) for name in keys])
    pca = fit_sites(pca, study=study, transport=sites, analyst=analyst)
    return {key: value for key, value in vars(pca).items() if isinstance(value, np.ndarray)}


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
    for name in ("DPGauss", "KDPPCA"):
        for table, X, more in containers(rows, folder):
            pca = estimators[name](2, epsilon=1.0, delta=1e-6, random_state=0, **more)
            yield f"{name}, {table}", partial(pca.fit, X)
    for table, words in shell_tables(rows, folder):
        yield f"shell, {table}", partial(fitted_by_shell, words, folder)
    for name in ("DPGauss", "ResidualGauss", "PrivatePCA"):  # KDPPCA starts at random
        pca = estimators[name](2, delta=1e-6)
        yield f"{name}, over sites", partial(fitted_over_sites, pca, rows, folder)

    def grown(e: Any) -> Any:
        pca = e(2, epsilon=1.0, delta=1e-6, random_state=0)
        return pca.partial_fit(rows[:400]).partial_fit(rows[400:])

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
        held = structs.asdict(value) if isinstance(value, Struct) else vars(value)
        return bits(held, (*seen, id(value)))
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
            except (ValueError, TypeError, AttributeError, RuntimeError) as error:
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
