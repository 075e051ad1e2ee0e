"""Check the figures in sentences: documentation, examples, README and docstrings.

    python benchmarks/published.py   # fail unless each figure has its key or its row

A figure is a number in a sentence. It is cited by the role ``measured``, or it is no measured
figure by one of `RULES`, or a row of ``doc/figures.csv`` says what it is. The columns of a row are:

- ``file``: from the root of the repository.
- ``text``: words of a sentence, with the figure, as `sentences` gives them.
- ``what``: ``measured: KEY`` (see `keys.py`; one figure, which agrees with it as far as it is
  printed), ``fact: KIND`` with one of `KINDS`, or ``unmeasured: WHAT IT IS``, which no stored table
  holds: these are counted openly.
"""

from __future__ import annotations

import ast
import csv
import re
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import keys

sys.path.insert(0, str(Path(__file__).parents[1] / "doc" / "_ext"))

import public_names

ROOT = Path(__file__).parents[1]
PAGES = ("*.md", "doc/**/*.rst", "doc/**/*.inc", "doc/tutorials/*.py", "examples/*.py")
DOCSTRINGS = "skdppca/**/*.py"
GENERATED = re.compile(r"doc/(?:_build|_templates|api/\w+/|auto_|sg_|benchmarks/)")

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
}

NUMBER = re.compile(
    r"(?<![\w.^_])[-+]?(?:\d{1,3}(?: \d{3})+|\d+)?(?:\.\d+|(?<=\d))(?:e[-+]?\d+)?(?![\w^])"
    r"|\b(?:two|three|four|five|six|seven|eight|nine|ten|hundred|thousand)\b"
    r"(?= times (?:less|more|as|the|worse|behind|\w+er)\b| orders| and a half times)"
    r"|\btwice(?= as| the)|\bhalf(?= (?:the error|the loss|as ))",
    re.IGNORECASE,
)
LISTED = r"(?:(?:,| and| or| to|, and) [\d.]+)*"
SET = r"-?[\d.]+(?:e-?\d+|\*\*\d+)?(?: to [\d.]+)?"
COUNTED = (
    "bits?|bytes?|cells?|columns?|components?|cores?|degrees|digits|dimensions?|directions?|draws|"
    "eigenvectors|entries|features?|fits?|folds?|groups?|images|items?|partitions?|passes|"
    "patients?|people|records?|repeats|repetitions|rows?|runs|samples|seeds?|sites?|steps|trials|"
    "users?|values|workers?|[KMG]iB"
)
# What is no measured figure, by the words around it; the group is the number.
RULES = {
    "0 or 1": r"(?<![\w.])(?P<number>[-+]?[01](?:\.0)?)(?![\w%]|\.\d| %)",
    "a year": r"(?<![\w.])(?P<number>(?:19|20)\d\d)(?![\w]|\.\d)(?! (?:rows|x|records))",
    "a place": (
        r"(?:Theorems?|Figures?|Tables?|Algorithms?|Corollar(?:y|ies)|[Ss]ections?|[Ll]emmas?|"
        r"Propositions?|[Ee]quations?|[Ss]teps?|Remarks?|[Cc]hapter|[Ll]ines?|[Qq]uestions?|Example)"
        rf"[ ~-]*(?P<number>[A-Z]?\.?[\d.]+{LISTED})"
    ),
    "a name": (
        r"(?:AES|SHA|UTF|SHAKE|IEEE|SP|ISO|BSD|Python|[Vv]ersion|Flower|numpy|scipy|scikit-learn)"
        r"[ (-]*(?P<number>\d[\d.-]*)"
    ),
    "a release": r"(?P<number>\d+\.\d+\.\d+ \(\d{4}-\d\d-\d\d\))",
    "a privacy parameter": (
        r"\b(?:epsilons?|deltas?|mu|rho|alpha|beta|budget|--\w+)(?: of| is| at| =|=|,)? ?"
        r"(?:at least |above |below |up to )?"
        rf"(?P<number>{SET}(?:(?:,| and|,? or) \d+(?![\d.]| %))*)"
    ),
    "a setting": (
        rf"\b(?:[ndkmhpLscq]|sigma|gap|norm|level|default|power)(?: =| of|=)? ?\(?(?P<number>{SET})"
    ),
    "a share that was set": (
        r"(?P<number>[\d.]+) %(?: of| of the| far| and \d+ %| and at \d+ %)? "
        r"(?:outliers|missing|entries|of them replaced|false alarms)"
    ),
    "a level of confidence": r"(?P<number>95) % (?:range|interval)",
    "a size": r"(?P<number>[\d ]*\d x \d[\d ]*)",
    "a count": (
        rf"(?P<number>\d[\d ]*{LISTED})[ -](?:(?!times|orders|of|more|less)[a-z-]+ ){{0,2}}?"
        rf"(?:{COUNTED})\b"
    ),
    "a formula": (
        r"(?P<number>(?<![\w.])\d+(?=(?: ?[/+^=<>*]| (?![asx]\b)[A-Za-z]\b))"
        r"|(?<=[/+^=<>*(]) ?-?\d+(?=[) ,;.\]/*]*(?:[/*^+]|$|[A-Za-z]\b))|(?<=[/+^=<>] )\d+"
        r"|(?<=sqrt )\d+|(?<=[a-z]/)\d+|[\d.]+(?=`\.\.`))"
    ),
    "the number of a row or a step": (
        r"(?:\* - (?=\d+(?: - |,| [A-Z][a-z]))|(?:^|[.:)*] |, )(?=\d\. [A-Z*`]))(?P<number>\d+)"
    ),
}

# What is no sentence, and what is left of it, in this order: first of Markdown alone.
MARKDOWN = {
    r"^```[\s\S]*?^```": "",
    r"<!--[\s\S]*?-->|!?\[|\]\([^)]*\)": "",
    r"`[^`]*`": "`..`",
}
CODE = r"code|(?:doc)?test|math|raw|toctree|(?:literal)?include|auto|(?:attack|command)-"
DEEPER = r"\n(?:\1 .*\n|[ ]*\n)*"
SKIPPED = {
    r"^ *>>>.*\n(?:.*\S.*\n)*": "\n",
    rf"^( *)\.\. (?:{CODE}|_|\w(?!.*::)).*{DEEPER}": "\n",
    rf"^( *)(?! |\.\. )(.*:):{DEEPER}": r"\2\n\n",
    r"^ *:(?!(?:noise|memory|strength|weakness|alt|caption): )[\w-]+:(?: .*)?\n": "",  # options
    r"^ *\.\. (?:grid:: .*|[\w-]+::)|^ *(?:\d+|#)\. |\\ ": "",
    r"^ *([=~^*-])\1+ *$": "",
    r":[\w:.-]+:`[^`]*`|``[\s\S]*?``": "`..`",
    r"`([^`<]*?)\s*<[^`>]*>`_+": r"\1",
    r"https?://\S+": "",
}


def files() -> Iterator[Path]:
    """All files with sentences that users read."""
    for path in sorted(path for pattern in (*PAGES, DOCSTRINGS) for path in ROOT.glob(pattern)):
        if not GENERATED.match(str(path.relative_to(ROOT))):
            yield path


def sentences(path: Path) -> list[str]:
    """The paragraphs of a file, without code, formulas, roles and links."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        public = path.is_relative_to(ROOT / "skdppca")
        text = "\n\n".join((_docstrings if public else _cells)(text))
    text += "\n"
    for pattern, left in ((MARKDOWN if path.suffix == ".md" else {}) | SKIPPED).items():
        text = re.sub(pattern, left, text, flags=re.MULTILINE)
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", text) if part.strip()]


@cache
def _exported() -> set[str]:
    """The public names; the base of all estimators documents their parameters."""
    return {"BasePrivatePCA", *(one.__name__ for one, _ in public_names.exported().values())}


def _docstrings(text: str) -> Iterator[str]:
    """Of exported classes, with their public methods, and of exported functions."""
    for node in ast.parse(text).body:
        if getattr(node, "name", "") in _exported():
            parts = (one for one in node.body if not getattr(one, "name", "_").startswith("_"))
            yield from (ast.get_docstring(one) or "" for one in (node, *parts))


def _cells(text: str) -> Iterator[str]:
    """The text of a page that is a script: its docstring, and the comments below ``# %%``."""
    yield ast.get_docstring(ast.parse(text)) or ""
    for block in re.findall(r"^# %%.*\n((?:#.*\n)*)", text, flags=re.M):
        yield re.sub(r"^# ?", "", block, flags=re.M)


def numbers(path: Path) -> Iterator[re.Match[str]]:
    """All numbers in the sentences of a file that no rule explains."""
    for text in sentences(path):
        by_rule = [one.span("number") for rule in RULES.values() for one in re.finditer(rule, text)]
        for found in NUMBER.finditer(text):
            if not any(a <= found.start() and found.end() <= b for a, b in by_rule):
                yield found


def within(words: str, found: re.Match[str]) -> bool:
    """Whether these words of its paragraph hold a number."""
    places = re.finditer(re.escape(words), found.string)
    return any(one.start() <= found.start() and found.end() <= one.end() for one in places)


def agrees(found: re.Match[str], value: float) -> bool:
    """Whether a printed number is the figure, as far as it has digits; a word never is."""
    printed = found.group().replace(" ", "")
    if re.match(" ?%", found.string[found.end() :]):
        value *= 100
    return not printed.isalpha() and abs(float(printed) - value) <= keys.half_of(printed) * 1.001


def check_row(row: dict[str, str], found: list[re.Match[str]]) -> None:
    """Raise what is wrong with a row, whose words hold these numbers."""
    kind, _, told = row["what"].partition(": ")
    if kind not in ("measured", "fact", "unmeasured") or (kind == "fact" and told not in KINDS):
        raise keys.MissingFigure(f"{row['what']!r} is no mark; facts are {[*KINDS]}")
    if not found or (kind == "measured" and len(found) > 1):
        raise keys.MissingFigure(f"{row['text']!r} holds {len(found)} figures")
    if kind == "measured" and not agrees(found[0], value := keys.value(told)):
        raise keys.MissingFigure(f"{row['text']!r}, but {told} is {value:.4g}")


class Check:
    """All faults, the figures that lack a row, and how many there are of each kind."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.kinds: Counter[str] = Counter()
        left = {}
        for path in files():
            name = str(path.relative_to(ROOT))
            left[name] = [*numbers(path)]
            for key in re.findall(r":measured:`([^`]*)`", path.read_text(encoding="utf-8")):
                self.kinds["cited by the role"] += 1
                with self._noted(name):
                    keys.figure(key)
        with (ROOT / "doc" / "figures.csv").open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                name, kind = row["file"], row["what"].removeprefix("fact: ").partition(":")[0]
                found = [one for one in left.get(name, ()) if within(row["text"], one)]
                left[name] = [one for one in left.get(name, ()) if one not in found]
                self.kinds[kind] += len(found)
                with self._noted(name):
                    check_row(row, found)
        self.lacking = [(name, one) for name, found in left.items() for one in found]

    @contextmanager
    def _noted(self, name: str) -> Iterator[None]:
        try:
            yield
        except keys.MissingFigure as error:
            self.faults.append(f"{name}: {error}")


if __name__ == "__main__":
    check = Check()
    print("figures in sentences:", dict(check.kinds))
    for name, found in check.lacking:
        words = found.string[max(0, found.start() - 24) : found.end() + 24]
        check.faults.append(f'no key, and no row in doc/figures.csv: {name},"{words}",?')
    sys.exit("\n".join(check.faults) or 0)
