"""Print the size of the project by room, and hold each number at where it has got to.

`make size` prints the table. With `--check` (`make lint`) a number beyond its limit in `sizes.json`
is an error. Whoever makes a number smaller lowers its limit; a commit that raises one says what
that buys.
"""

from __future__ import annotations

import ast
import inspect
import json
import os
import subprocess
import sys
import tokenize
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LIMITS = Path(__file__).with_name("sizes.json")
COVERAGE = ROOT / ".coverage.json"  # what `make test COVERAGE=1` leaves

# A fit of rows in memory, its account and its report; everything else stands around it.
CORE = {
    "__init__",
    "_sklearn",
    "_text",
    "_version",
    "decomposition",
    "exceptions",
    "linalg",
    "mechanisms",
    "noise",
    "privacy",
    "private_data",
    "records",
    "releasing",
    "statistics",
}
COLUMNS = ("code", "nodes", "lines", "files", "classes")
NOT_CODE = {
    tokenize.COMMENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
    tokenize.INDENT,
    tokenize.NEWLINE,
    tokenize.NL,
}
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
COMPREHENSIONS = {"<dictcomp>", "<genexpr>", "<listcomp>", "<setcomp>"}
BUILT = {"_build", "generated", "auto_examples", "auto_tutorials", "backreferences"}
FITS = ("DPGauss", "KDPPCA")


def docstring_lines(tree: ast.Module) -> set[int]:
    """Return the numbers of the lines that docstrings take."""
    return {
        line
        for node in ast.walk(tree)
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None
        for line in range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)
    }


def size_of(path: Path) -> Counter[str]:
    """Count lines of code (no docstring, comment, blank), nodes, lines and classes of a file."""
    tree = ast.parse(path.read_bytes())
    with tokenize.open(path) as file:
        tokens = list(tokenize.generate_tokens(file.readline))
    spans = [(one.start[0], one.end[0]) for one in tokens if one.type not in NOT_CODE]
    code = {line for first, last in spans for line in range(first, last + 1)}
    nodes = list(ast.walk(tree))
    return Counter(
        code=len(code - docstring_lines(tree)),
        nodes=len(nodes),
        lines=len(path.read_text(encoding="utf-8").splitlines()),
        files=1,
        classes=sum(isinstance(node, ast.ClassDef) for node in nodes),
    )


def rooms(package: Path) -> dict[str, Counter[str]]:
    """Return the sizes of the modules and packages at the top of a package."""
    found: dict[str, Counter[str]] = {}
    for path in sorted(package.rglob("*.py")):
        room = path.relative_to(package).parts[0].removesuffix(".py")
        found.setdefault(room, Counter()).update(size_of(path))
    return found


def written(pattern: str, folder: Path) -> Iterator[Path]:
    """Yield the files of a folder that people write, not those that are built."""
    for path in sorted(folder.rglob(pattern)):
        if not BUILT & set(path.relative_to(folder).parts):
            yield path


def n_lines(paths: Iterable[Path]) -> int:
    """Return the number of lines of files."""
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)


def property_codes() -> set[CodeType]:
    """Return the code of all properties of the package's classes."""
    found = set()
    for module in [*sys.modules.values()]:
        if getattr(module, "__name__", "").startswith("skdppca"):
            for cls in filter(inspect.isclass, vars(module).values()):
                for one in vars(cls).values():
                    if isinstance(one, property) and one.fget is not None:
                        found.add(one.fget.__code__)
                    elif isinstance(one, cached_property):
                        found.add(one.func.__code__)
    return found


def walk_of(name: str) -> dict[str, int]:
    """Count the files and functions that a fit to 3000 x 20 rows calls, and how deep it calls.

    Properties and comprehensions are no functions here. Another fit has filled the caches before.
    """
    import numpy as np

    import skdppca

    warnings.simplefilter("ignore")
    folder = str(ROOT / "skdppca")
    X = np.random.default_rng(0).normal(size=(3000, 20)) * np.linspace(3, 1, 20)
    pca = getattr(skdppca, name)(2, random_state=0).fit(X)
    properties = property_codes()
    met: set[CodeType] = set()
    stack: list[CodeType] = []
    deepest = 0

    def follow(frame: FrameType, event: str, arg: Any) -> None:
        nonlocal deepest
        code = frame.f_code
        ours = code.co_filename.startswith(folder) and code not in properties
        if not ours or code.co_name in COMPREHENSIONS:
            return
        if event == "call":
            stack.append(code)
            met.add(code)
            deepest = max(deepest, len(stack))
        elif event == "return":
            stack.pop()

    sys.setprofile(follow)
    pca.fit(X)
    sys.setprofile(None)
    return {
        "files": len({code.co_filename for code in met}),
        "functions": len(met),
        "deep": deepest,
    }


def traced(name: str) -> dict[str, int]:
    """Return `walk_of` a fit of one thread, in a process of its own."""
    command = [sys.executable, __file__, "--walk", name]
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    env = os.environ | threads | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT, env=env)
    found: dict[str, int] = json.loads(done.stdout)
    return found


def covered_branches() -> float | None:
    """Return the percentage of the core's branches that tests took; None if not measured."""
    if not COVERAGE.exists():
        return None
    taken = all_branches = 0
    for path, file in json.loads(COVERAGE.read_text(encoding="utf-8"))["files"].items():
        if Path(path).parts[1].removesuffix(".py") in CORE:
            taken += file["summary"]["covered_branches"]
            all_branches += file["summary"]["num_branches"]
    return round(100 * taken / all_branches, 1)


def measured(by_room: dict[str, Counter[str]]) -> dict[str, float]:
    """Return every number that has a limit, by its name."""
    total = sum(by_room.values(), Counter[str]())
    core = sum((by_room[room] for room in by_room.keys() & CORE), Counter[str]())
    pages = [path.read_text(encoding="utf-8") for path in written("*.rst", ROOT / "doc")]
    numbers: dict[str, float] = {f"package: {column}": total[column] for column in COLUMNS}
    numbers["core: code"] = core["code"]
    for name in FITS:
        numbers |= {f"{name}.fit: {what}": number for what, number in traced(name).items()}
    numbers["pages: words"] = sum(len(page.split()) for page in pages)
    numbers["changelog: lines"] = n_lines([ROOT / "CHANGELOG.md"])
    for folder in ("tests", "benchmarks"):
        numbers[f"{folder}: lines"] = n_lines(written("*.py", ROOT / folder))
    branches = covered_branches()
    if branches is not None:
        numbers["core: branches covered by its tests, %"] = branches
    return numbers


def is_beyond(name: str, number: float, limit: float) -> bool:
    """Return whether a number is on the wrong side of its limit; coverage has a lower one."""
    return number < limit if "covered" in name else number > limit


def show(by_room: dict[str, Counter[str]], numbers: dict[str, float]) -> None:
    """Print the sizes of the rooms, and the numbers beside their limits."""
    print(f"{'room':18}" + "".join(f"{column:>10}" for column in COLUMNS))
    for room, size in sorted(by_room.items(), key=lambda item: -item[1]["code"]):
        kind = "" if room in CORE else " (around)"
        print(f"{room + kind:24}" + "".join(f"{size[column]:>8}  " for column in COLUMNS))
    limits = json.loads(LIMITS.read_text(encoding="utf-8"))
    print(f"\n{'':28}{'today':>10}{'limit':>10}")
    for name, number in numbers.items():
        print(f"{name:28}{number:>10}{limits.get(name, ''):>10}")


def main() -> int:
    """Print the sizes, or only those beyond their limits; 1 if there is one."""
    if "--walk" in sys.argv:
        print(json.dumps(walk_of(sys.argv[-1])))
        return 0
    by_room = rooms(ROOT / "skdppca")
    numbers = measured(by_room)
    if "--check" not in sys.argv:
        show(by_room, numbers)
    limits = json.loads(LIMITS.read_text(encoding="utf-8"))
    known = [(name, number) for name, number in numbers.items() if name in limits]
    beyond = [name for name, number in known if is_beyond(name, number, limits[name])]
    for name in beyond:
        print(f"{name}: {numbers[name]}, limit {limits[name]} in .ci/sizes.json")
    return int(bool(beyond))


if __name__ == "__main__":
    sys.exit(main())
