"""The code that a table depends on, and its digest: of syntax trees, so words make nothing stale.

A script depends on itself and on all modules of ``benchmarks`` and ``skdppca`` that it imports,
directly or through others, and on the script of R beside it that has its name. What is in
`WITHOUT_NUMBERS` and `WITHOUT_NUMBERS_HERE` computes no figure, and is left out, as are comments,
docstrings, annotations, and the messages of errors and warnings. What is in `OF_COHORTS` and
`OF_COHORTS_HERE` runs only where releases grow: `COHORTS` alone depends on it.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

BENCHMARKS = Path(__file__).parent
PACKAGE = BENCHMARKS.parent / "skdppca"


def _named(rooms: dict[str, str]) -> tuple[str, ...]:
    return tuple(f"{room}/{name}" for room, names in rooms.items() for name in names.split())


# Rooms and modules of the package, and the machinery of the benchmarks. Whoever accounts for a
# release has its price from `privacy/events`, `gdp`, `composition`, `pld`, which do compute.
WITHOUT_NUMBERS = _named(
    {
        "skdppca": "cli report plotting exceptions _text _version",
        "skdppca/privacy": "accountant callers chain charging checks cohorts config export "
        "fit_report grown installing journal ledger log notebook parts statement storage versions",
        "benchmarks": "_common keys measure registry sources",
    }
)
# Functions that say what is offered, and what is wrong with files, in modules that do compute.
WITHOUT_NUMBERS_HERE = {"_has_matrix", "wrong_labels"}

COHORTS = "bench_cohorts"
OF_COHORTS = _named(
    {"skdppca/decomposition": "joining merged", "skdppca/decomposition/dp_gauss": "cohorts"}
)
OF_COHORTS_HERE = {"drift", "forgetting"}
# Fields of syntax trees that say what a name may hold, and how a string was written.
WORDS = {"annotation", "kind", "returns"}
# What `import skdppca` stands for: its names are imported when they are asked for.
ALL_METHODS = PACKAGE / "decomposition" / "__init__.py"


def digest(script: Path) -> str:
    """Of all code that a script's numbers depend on."""
    found, grows = hashlib.sha256(), script.stem == COHORTS
    for path in depends(script):
        tree = _tree(path, grows)
        found.update(f"{path.relative_to(BENCHMARKS.parent)}\n{tree}\n".encode())
    if (driver := script.with_suffix(".R")).exists():
        found.update(driver.read_bytes())
    return found.hexdigest()[:12]


@cache
def depends(script: Path) -> tuple[Path, ...]:
    """The files of the code that a script's numbers depend on, itself among them."""
    found, todo = set(), [script.resolve()]
    while todo:
        path = todo.pop()
        if path not in found:
            found.add(path)
            todo += _imported(path, script.stem == COHORTS)
    return tuple(sorted(found))


@cache
def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_bytes())


@cache
def _imported(path: Path, grows: bool) -> tuple[Path, ...]:
    """The files of the modules that a file imports."""
    found = []
    for name in _names(path):
        file = _file(name, path.parent)
        if file is not None and not _left_out(file, grows):
            found.append(file)
    return tuple(found)


def _names(path: Path) -> Iterator[str]:
    """Dotted names that may be modules; those for type checkers alone are none."""
    for node in _run(_parsed(path)):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            home = node.module or ""
            if node.level:
                package = path.parents[node.level - 1].relative_to(BENCHMARKS.parent)
                home = ".".join([*package.parts, *filter(None, [node.module])])
                home = home.removeprefix("benchmarks.")
            yield home
            yield from (f"{home}.{name.name}" for name in node.names)
        elif isinstance(node, ast.Call) and "import_module" in ast.dump(node.func):
            yield from (one.value for one in node.args if isinstance(one, ast.Constant))


def _run(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test)):
            yield child
            yield from _run(child)


def _file(name: str, folder: Path) -> Path | None:
    """The file of a module of the package, or of one beside the script or in benchmarks."""
    if name == "skdppca":
        return ALL_METHODS
    for home in (BENCHMARKS.parent,) if name.startswith("skdppca.") else (folder, BENCHMARKS):
        path = home.joinpath(*name.split("."))
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if file.exists():
                return file.resolve()
    return None


def _left_out(path: Path, grows: bool) -> bool:
    name = str(path.relative_to(BENCHMARKS.parent).with_suffix(""))
    without = WITHOUT_NUMBERS if grows else WITHOUT_NUMBERS + OF_COHORTS
    return any(name == one or name.startswith(f"{one}/") for one in without)


@cache
def _tree(path: Path, grows: bool) -> str:
    without = WITHOUT_NUMBERS_HERE if grows else WITHOUT_NUMBERS_HERE | OF_COHORTS_HERE
    return _dumped(_parsed(path), without)


def _dumped(value: object, without: set[str]) -> str:
    """Like `ast.dump`, the same in all versions of Python."""
    if isinstance(value, list):
        return f"[{' '.join(_dumped(one, without) for one in value)}]"
    if not isinstance(value, ast.AST):
        return repr(value)
    if isinstance(value, ast.FunctionDef) and value.name in without:
        return ""
    if isinstance(value, ast.Raise):
        return "raise"
    if isinstance(value, ast.Call) and getattr(value.func, "attr", "") == "warn":
        return "warn"
    if isinstance(value, ast.Expr) and isinstance(value.value, ast.Constant):
        return ""  # a docstring
    fields = ((name, one) for name, one in ast.iter_fields(value) if one not in (None, []))
    told = " ".join(f"{name}={_dumped(one, without)}" for name, one in fields if name not in WORDS)
    return f"{type(value).__name__}({told})"
