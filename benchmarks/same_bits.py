"""Whether seeded fits are the same, to the bit, as those of an earlier commit.

    python benchmarks/same_bits.py COMMIT           # compare; exit 1 where something differs
    python benchmarks/same_bits.py COMMIT --carry   # and keep the tables that were fresh there
    python benchmarks/same_bits.py COMMIT --carry --but explained_variance_ noise_variance_
    python benchmarks/same_bits.py COMMIT --carry --known "DPGauss, many rows" --leave scale

Code that was put in better order computes what it did, but its digest is another. Where all seeded
fits agree, a table of accuracy that was fresh at the commit is fresh still, and ``--carry`` notes
today's digest for it: one whose script is the same, and that holds no times. Names after ``--but``
are not compared, and tables whose scripts read them are not kept. A change that moves some fits on
purpose names these cases after ``--known``, by what their names begin with, and after ``--leave``
the tables that hold such fits, which are then measured again. Both commits run here, so the
comparison says nothing of other processors.
"""

from __future__ import annotations

import argparse
import ast
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
import sources
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


def digests_in(tree: Path) -> dict[str, tuple[str, str]]:
    """Script of a part -> the digest that its tree gives it, and today's of the script alone."""
    code = (
        "import json, registry, sources\n"
        "of = lambda part: [path.name for path in sources.depends(part.path) "
        "if sources.BENCHMARKS in path.parents]\n"
        "print(json.dumps({part.script: (part.digest, of(part)) for part in registry.PARTS}))"
    )
    benchmarks = tree / "benchmarks"
    environment = os.environ | {"PYTHONPATH": f"{tree}:{benchmarks}"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, check=True, text=True)
    return {
        script: (digest, _of_files(benchmarks, names))
        for script, (digest, names) in json.loads(done.stdout).items()
    }


def _scripts(script: Path) -> list[str]:
    """The text of a script and of its helpers."""
    ours = (path for path in sources.depends(script) if sources.BENCHMARKS in path.parents)
    return [path.read_text(encoding="utf-8") for path in ours]


def _of_files(folder: Path, names: list[str]) -> str:
    """A digest of a script and its helpers, which lie in the folder or one below."""
    paths = sorted(path for path in folder.rglob("*.py") if path.name in names)
    trees = [sources._dumped(ast.parse(path.read_bytes()), set()) for path in paths]
    return hashlib.sha256(repr(trees).encode()).hexdigest()


def carry(
    then: dict[str, tuple[str, str]], but: Set[str] = frozenset(), leave: Set[str] = frozenset()
) -> list[str]:
    """Note today's digest for tables of accuracy that were fresh then; which these are."""
    import measure
    import registry

    now, carried = digests_in(HERE.parent.parent), []
    for part in registry.PARTS:
        before = then.get(part.script)
        if part.times or before is None or before[1] != now[part.script][1]:
            continue
        if but and any(name in text for name in but for text in _scripts(part.path)):
            continue
        kept = [table for table in part.tables if table not in leave and registry.stored(table)]
        fresh = [table for table in kept if measure.digest_of(table) == before[0]]
        for table in fresh if before[0] != part.digest else ():
            measure.carry(table, part)
            carried.append(table)
    return carried


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("commit", nargs="?", default="HEAD")
    parser.add_argument("--carry", action="store_true")
    parser.add_argument("--but", nargs="*", default=[], metavar="NAME")
    parser.add_argument("--known", nargs="*", default=[], metavar="CASE")
    parser.add_argument("--leave", nargs="*", default=[], metavar="TABLE")
    parser.add_argument("--print", action="store_true")
    given = parser.parse_args()
    if given.print:
        print(json.dumps(found()))
        return 0
    with checked_out(given.commit) as tree:
        before, now = found_in(tree), found_in(HERE.parent.parent)
        then = digests_in(tree)
    but = set(given.but)
    differ = [name for name in now if without(now[name], but) != without(before.get(name), but)]
    refused = sum(isinstance(one, str) for one in now.values())
    print(f"{len(now)} cases, {refused} of them refused; {len(differ)} differ from {given.commit}")
    unknown = [name for name in differ if not name.startswith(tuple(given.known))]
    for name in differ:
        print(f"  {name}", "" if name in unknown else "(known)")
    if given.carry and not unknown:
        print("carried:", *carry(then, but, set(given.leave)))
    return bool(unknown)


if __name__ == "__main__":
    sys.exit(main())
