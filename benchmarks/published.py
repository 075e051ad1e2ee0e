"""Check the figures in sentences: documentation, examples, README and docstrings.

    python benchmarks/published.py             # fail unless each has its key or its marker
    python benchmarks/published.py --lacking   # rows for doc/figures.csv of those that have none
    python benchmarks/published.py --unmeasured   # which figures no stored table holds

A figure is a number in a sentence. It is cited by the role ``measured``, or it is no measured
figure by one of `RULES`, or a row of ``doc/figures.csv`` says what it is. The columns of a row are:

- ``file``: from the root of the repository.
- ``text``: words of a sentence, with the figure, as `sentences` gives them; ``*``, every other
  figure of the file.
- ``what``: ``measured: KEY`` (see `keys.py`; one figure, which agrees with it as far as it is
  printed), ``fact: KIND`` with one of `KINDS`, or ``unmeasured: WHAT IT IS``, which no stored table
  holds: these are counted openly.
"""

from __future__ import annotations

import argparse
import ast
import csv
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import keys

sys.path.insert(0, str(Path(__file__).parents[1] / "doc" / "_ext"))

import public_names

ROOT = Path(__file__).parents[1]
MARKED = ROOT / "doc" / "figures.csv"
PLAIN = ("README.md", "SECURITY.md", "CHANGELOG.md", "CONTRIBUTING.md")
SCRIPTS = ("examples", "doc/tutorials")  # whose comments below ``# %%`` are pages
GENERATED = (
    "_build",
    "api/generated",
    "api/backreferences",
    "auto_",
    "sg_",
    "benchmarks/",
    "_templates",
)

# What a number that was not measured may be.
KINDS = {
    "definition": "part of what a word or a method means",
    "theorem": "follows from a theorem or a formula",
    "computed": "exact, by a command that the text shows or the package has",
    "default": "of a parameter, or a limit of the code",
    "example": "data or settings of an example",
    "setting": "under which something was measured",
    "rule": "advice, and no measurement",
    "paper": "printed in a paper that the text names",
    "software": "of another package",
    "history": "of a development version, measured when it was changed",
}

WORDS = {
    word: value
    for value, names in {
        0.5: "half",
        2: "two twice",
        3: "three",
        4: "four",
        5: "five",
        6: "six",
        7: "seven",
        8: "eight",
        9: "nine",
        10: "ten",
        100: "hundred",
        1000: "thousand",
    }.items()
    for word in names.split()
}
NUMBER = re.compile(
    r"(?<![\w.^_])[-+]?(?:\d{1,3}(?: \d{3})+|\d+)?(?:\.\d+|(?<=\d))(?:e[-+]?\d+)?(?![\w^])"
    rf"|\b(?:{'|'.join(WORDS)})\b(?= times (?:less|more|as|the|better|worse|larger|smaller|faster"
    r"|slower|behind|lower|higher|shorter|longer)| orders| and a half times)|\btwice(?= as| the)"
    r"|\bhalf(?= (?:the error|the loss|as ))",
    re.IGNORECASE,
)
LISTED = r"(?:(?:,| and| or| to|, and) [\d.]+)*"
SET = r"-?[\d.]+(?:e-?\d+|\*\*\d+)?(?: to [\d.]+)?"
WHOLE = r"(?:(?:,| and|,? or) \d+(?![\d.]| %))*"
COUNTED = (
    "bins?|bits?|bytes?|candidates?|cells?|columns?|components?|copies|cores?|days?|degrees|"
    "digits|dimensions?|directions?|draws|eigenvectors|entries|features?|fits?|folds?|"
    "groups?|images|interactions|items?|iterations|methods|minutes of|observations|pairs|parts|"
    "partitions?|passes|patients?|people|percentile|personnes|processes|queries|questions|records?|"
    "releases|repeats|repetitions|rows?|runs|samples|seeds?|shares|sites?|steps|tables?|threads?|"
    "trials|users?|values|visitors|votes|workers?"
)
# What is no measured figure, by the words around it; the group is the number.
RULES = {
    "0 or 1": r"(?<![\w.])(?P<number>[-+]?[01](?:\.0)?)(?![\w%]|\.\d| %)",
    "a year": r"(?<![\w.])(?P<number>(?:19|20)\d\d)(?![\w]|\.\d)(?! (?:rows|x|records))",
    "a place": (
        r"(?:Theorems?|Figures?|Tables?|Algorithms?|Corollar(?:y|ies)|[Ss]ections?|[Ll]emmas?|eq\.|"
        r"Appendix|Definitions?|Propositions?|Equations?|equations?|[Ss]teps?|Remarks?|chapter|"
        r"Approximations?|[Ll]ines?|[Qq]uestions?|Level|Claim|Example|Chapter|pages?|Class|Part)"
        rf"[ ~-]*(?P<number>[A-Z]?\.?[\d.]+{LISTED})"
    ),
    "a name": (
        r"(?:AES|SHA|UTF|SHAKE|HMAC|IEEE|SP|RFC|ISO|BSD|NeurIPS|ICML|STOC|Python|[Vv]ersion|Flower|"
        r"flwr|numpy|scipy|scikit-learn|matplotlib|pyarrow|dask|diffprivlib|format)"
        r"[ (-]*(?P<number>\d[\d.-]*)"
    ),
    "a release": r"(?P<number>\d+\.\d+\.\d+ \(\d{4}-\d\d-\d\d\))",
    "a privacy parameter": (
        r"\b(?:epsilons?|deltas?|mu|rho|alpha|beta|budget|--\w+)(?: of| is| at| =|=|,)? ?"
        rf"(?:at least |above |below |up to )?(?P<number>{SET}{WHOLE})"
    ),
    "a setting": (
        r"\b(?:n|d|k|m|h|p|L|s|c|q|sigma|gap|norm|level|default|power|df|shape)"
        rf"(?: =| of|=)? ?\(?(?P<number>{SET})"
    ),
    "a share that was set": (
        r"(?P<number>[\d.]+) %(?: of| of the| far| and \d+ %| and at \d+ %)? "
        r"(?:outliers|missing|entries|left out|contaminated|of them replaced|false alarms)"
    ),
    "a bound of the code": r"default=\(?[\d.]+, (?P<number>[\d.]+)",
    "a level of confidence": r"(?P<number>95) % (?:range|interval|confidence|bar|Student)",
    "a size": r"(?P<number>[\d ]*\d x \d[\d ]*)",
    "a limit in bytes": r"(?P<number>\d+) [KMG]iB",
    "a count": (
        rf"(?P<number>\d[\d ]*{LISTED})[ -](?:(?!times|orders|of|more|less)[a-z-]+ ){{0,2}}?"
        rf"(?:{COUNTED})\b"
    ),
    "a formula": (
        r"(?P<number>(?<![\w.])\d+(?=(?: ?[/+^=<>*]| (?![asx]\b)[A-Za-z]\b| (?:sin|theta|sqrt)))"
        r"|(?<=[/+^=<>*(]) ?-?\d+(?=[) ,;.\]/*]*(?:[/*^+]|$|[A-Za-z]\b))|(?<=[/+^=<>] )\d+"
        r"|(?<=sqrt\()\d+|(?<=sqrt )\d+|(?<=\*\*)-?\d+|(?<=[a-z]/)\d+|[\d.]+(?=`\.\.`)"
        r"|10\^\{?-?\d+\}?)"
    ),
    "a row's number": r"\* - (?P<number>\d+)(?= - |,| [A-Z][a-z])",
    "a step's number": r"(?:^|[.:)*] |, )(?P<number>\d)\. (?=[A-Z*`])",
}


@dataclass(frozen=True)
class Found:
    """A number in a sentence: where, and as it is printed."""

    file: str
    text: str  # of its whole paragraph
    start: int
    number: str

    @property
    def value(self) -> float:
        return WORDS.get(self.number.lower()) or float(self.number.replace(" ", ""))

    @property
    def percent(self) -> bool:
        return bool(re.match(r" ?%", self.text[self.start + len(self.number) :]))

    def around(self, reach: int = 24) -> str:
        """The number with some words to both sides."""
        end = self.start + len(self.number)
        before = self.text[max(0, self.start - reach) : self.start]
        after = self.text[end : end + reach]
        before = before[before.find(" ") + 1 :] if self.start > reach else before
        after = after[: after.rfind(" ")] if end + reach < len(self.text) else after
        return f"{before}{self.number}{after}".strip()


def files() -> Iterator[Path]:
    """All files with sentences that users read."""
    yield from (ROOT / name for name in PLAIN)
    for path in sorted(path for end in ("rst", "inc") for path in (ROOT / "doc").rglob(f"*.{end}")):
        name = str(path.relative_to(ROOT / "doc"))
        if not name.startswith(GENERATED):
            yield path
    for folder in SCRIPTS:
        yield from sorted((ROOT / folder).glob("*.py"))
    yield from sorted((ROOT / "skdppca").rglob("*.py"))


def sentences(path: Path) -> list[str]:
    """The paragraphs of a file, without code, formulas, roles and links."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py" and path.is_relative_to(ROOT / "skdppca"):
        return [part for doc in _docstrings(text) for part in _of_rst(doc)]
    if path.suffix == ".py":
        text = "\n\n".join(_cells(text))
    if path.suffix == ".md":
        text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
        text = re.sub(r"<!--.*?-->|!?\[|\]\([^)]*\)|https?://\S+", "", text, flags=re.S)
        text = re.sub(r"`[^`]*`", "`..`", text)
    return _of_rst(text)


@cache
def _exported() -> set[str]:
    """The public names; the base of all estimators documents their parameters."""
    names = {"BasePrivatePCA"}
    for module in public_names.MODULES:
        path = ROOT.joinpath(*module.split("."))
        file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        tree = ast.parse(file.read_bytes())
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
                names |= {one.value for one in ast.walk(node) if isinstance(one, ast.Constant)}
    return names


def _docstrings(text: str) -> Iterator[str]:
    """Of exported classes, with their public methods, and of exported functions."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name in _exported():
            yield ast.get_docstring(node) or ""
            for part in node.body if isinstance(node, ast.ClassDef) else ():
                if isinstance(part, ast.FunctionDef) and not part.name.startswith("_"):
                    yield ast.get_docstring(part) or ""


def _cells(text: str) -> Iterator[str]:
    """The text of a page that is a script: its docstring, and the comments below ``# %%``."""
    yield ast.get_docstring(ast.parse(text)) or ""
    for block in re.findall(r"^# %%.*\n((?:#.*\n)*)", text, flags=re.M):
        yield re.sub(r"^# ?", "", block, flags=re.M)


CODE = re.compile(
    r"\.\. (?:code-block|code|doctest|testcode|testoutput|math|raw|toctree|literalinclude|include|"
    r"plot|jinja|autosummary|autoclass|autofunction|automodule|currentmodule|highlight|program-output"
    r"|attack-table|command-line|_|[^\s:]+:(?!:))"
)


def _of_rst(text: str) -> list[str]:
    lines, kept, deep = text.expandtabs().splitlines(), [], None
    code = False  # within >>> ...
    for line in lines:
        indent = len(line) - len(line.lstrip())
        bare = line.strip()
        if deep is not None and (not bare or indent > deep):
            continue
        deep = None
        code = bool(bare) and (code or bare.startswith(">>>"))
        if code:
            continue
        if CODE.match(bare) and not re.match(r"\.\. (?:csv-table|list-table|figure|image)", bare):
            deep = indent
            continue
        if re.match(r"\.\. \w", bare) and "::" not in bare:  # a comment
            deep = indent
            continue
        if bare.endswith("::") and not bare.startswith(".. "):
            deep = indent
            bare = bare[:-1]
        if re.match(r":[\w-]+:(?: |$)", bare) and not re.match(
            r":(?:noise|memory|strength|weakness|alt|caption): ", bare
        ):
            continue  # options of directives
        bare = re.sub(r"^\.\. (?:grid:: .*|[\w-]+::)", "", bare).replace("\\ ", "")
        bare = re.sub(r"^(?:\d+|#)\. ", "", bare)
        kept.append(bare if bare and not re.fullmatch(r"([=~^*-])\1+", bare) else "")
    whole = "\n".join(kept)
    whole = re.sub(r":math:`[^`]*`|:[\w:.-]+:`[^`]*`", "`..`", whole)
    whole = re.sub(r"``.*?``", "`..`", whole, flags=re.S)
    whole = re.sub(r"`([^`<]*?)\s*<[^`>]*>`_+", r"\1", whole)
    whole = re.sub(r"https?://\S+", "", whole)
    parts = re.split(r"\n\s*\n", whole)
    return [" ".join(part.split()) for part in parts if part.strip()]


def numbers(path: Path) -> Iterator[Found]:
    """All numbers in the sentences of a file that no rule explains."""
    name = str(path.relative_to(ROOT))
    for text in sentences(path):
        by_rule = [
            match.span("number") for rule in RULES.values() for match in re.finditer(rule, text)
        ]
        for match in NUMBER.finditer(text):
            start, end = match.span()
            if not any(a <= start and end <= b for a, b in by_rule):
                yield Found(name, text, start, match.group())


def marked() -> list[dict[str, str]]:
    """The rows of doc/figures.csv."""
    with MARKED.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def agrees(found: Found, value: float) -> bool:
    """Whether a printed number is the figure, as far as it has digits; a word, to half a unit."""
    if found.number.lower() in WORDS:
        return abs(found.value - value) <= 0.5 * min(1.0, found.value)
    mantissa, _, exponent = found.number.replace(" ", "").partition("e")
    digits = len(mantissa.partition(".")[2])
    half = 0.5 * 10.0 ** (int(exponent or 0) - digits)
    return abs(found.value - (100 * value if found.percent else value)) <= half * 1.001


class Check:
    """All faults, and what the figures are."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.lacking: list[Found] = []
        self.unmeasured: list[tuple[Found, str]] = []
        self.kinds: Counter[str] = Counter()
        self.rows = marked()
        self.used: Counter[int] = Counter()
        for path in files():
            if not path.is_relative_to(ROOT / "skdppca"):
                self._roles(path)
            for found in numbers(path):
                self._one(found)
        for number, row in enumerate(self.rows):
            kind, _, told = row["what"].partition(": ")
            if kind not in ("measured", "fact", "unmeasured"):
                self.faults.append(f"doc/figures.csv: {row['what']!r} is no mark")
            elif kind == "fact" and told not in KINDS:
                self.faults.append(f"doc/figures.csv: {told!r} is none of {[*KINDS]}")
            elif not self.used[number]:
                self.faults.append(f"doc/figures.csv: {row['file']} has no {row['text']!r}")
            elif kind == "measured" and self.used[number] > 1:
                self.faults.append(f"doc/figures.csv: {row['text']!r} has more than one figure")

    def _roles(self, path: Path) -> None:
        for key in re.findall(r":measured:`([^`]*)`", path.read_text(encoding="utf-8")):
            self.kinds["cited by the role"] += 1
            try:
                keys.figure(" ".join(key.split()))
            except keys.MissingFigure as error:
                self.faults.append(f"{path.relative_to(ROOT)}: {error}")

    def _one(self, found: Found) -> None:
        number = self._row_of(found)
        if number is None:
            self.lacking.append(found)
            return
        self.used[number] += 1
        kind, _, told = self.rows[number]["what"].partition(": ")
        self.kinds[told if kind == "fact" else kind] += 1
        if kind == "unmeasured":
            self.unmeasured.append((found, told))
        elif kind == "measured":
            try:
                value = keys.value(told)
            except keys.MissingFigure as error:
                self.faults.append(f"{found.file}: {error}")
                return
            if not agrees(found, value):
                self.faults.append(f"{found.file}: {found.around()!r}, but {told} is {value:.4g}")

    def _row_of(self, found: Found) -> int | None:
        rest = None
        for number, row in enumerate(self.rows):
            if row["file"] != found.file:
                continue
            if row["text"] == "*":
                rest = number
                continue
            at = found.text.find(row["text"])
            while at >= 0:
                if at <= found.start and found.start + len(found.number) <= at + len(row["text"]):
                    return number
                at = found.text.find(row["text"], at + 1)
        return rest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lacking", action="store_true", help="rows of figures without a mark")
    parser.add_argument("--unmeasured", action="store_true", help="figures that no table holds")
    options = parser.parse_args()
    check = Check()
    if options.lacking:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerows((found.file, found.around(), "?") for found in check.lacking)
        return
    if options.unmeasured:
        for found, told in check.unmeasured:
            print(f"{found.file}: {found.around()!r}: {told}")
        return
    print("figures in sentences:", dict(check.kinds))
    pages = Counter(found.file for found, _ in check.unmeasured)
    print(f"not yet measured: {len(check.unmeasured)} figures: {dict(pages)}")
    for found in check.lacking:
        check.faults.append(f"{found.file}: {found.around()!r} has neither key nor marker")
    if check.faults:
        sys.exit("\n".join(check.faults))


if __name__ == "__main__":
    main()
