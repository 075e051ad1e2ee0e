"""The file that states what no program can find out."""

from __future__ import annotations

import tomllib
from pathlib import Path

from ..report import Context
from ..report._contents import read_file
from ..report._context import DECISIVE, HAZARDS, LABELS

INTRODUCTION = (
    "# What you declare about a release. A question is answered by yes, no or unknown, with a text",
    '# beside it if you like. What stays empty is printed as "Not stated". All of it is published,',
    "# so write nothing that the data told you.",
    "# To use this file: skdppca fit ... --context FILE, or, for a release that you have,",
    "# skdppca declare DIR --context FILE --out COPY",
)
# Hints for a curator, beside a question, before they answer it.
HINTS = {
    "fitted_before": (
        "Columns that you leave out by their names, and numbers for detection limits by a public "
        "rule,",
        "are no such selection.",
    ),
}

# Bytes of the file: each answer with every letter written as \\U0001F600, and comments.
MOST_STATED = 2**20


def context_of(path: Path | None) -> Context | None:
    """Read a file that declares what no program can find out about a release.

    Raises
    ------
    ValueError
    """
    if path is None:
        return None
    try:
        return Context.from_dict(tomllib.loads(read_file(path, MOST_STATED).decode()))
    except OSError as error:
        wrong = f"cannot be read ({error.strerror}); check the path"
    except UnicodeError:
        wrong = "is not in UTF-8"
    except (tomllib.TOMLDecodeError, RecursionError) as error:  # too deep a list
        wrong = f"is no TOML: {error}"
    except (TypeError, ValueError) as error:
        wrong = f"cannot be used: {error}"
    raise ValueError(f"--context {path} {wrong}; see skdppca.report.Context for what it may hold")


def template() -> str:
    """A file that states nothing yet: the ten questions of section 10, then the other answers."""
    lines = [*INTRODUCTION, ""]
    for number, (name, question) in enumerate(HAZARDS.items(), start=1):
        hints = [f"# {hint}" for hint in HINTS.get(name, ())]
        if name in DECISIVE:
            hints.append(f"# The figures of the report rest on the answer {DECISIVE[name]}.")
        lines += [f"# {number}. {question}", *hints, f'{name} = {{answer = "", text = ""}}', ""]
    for name, label in LABELS.items():
        if name not in HAZARDS:
            lines += [f"# {label}", f'{name} = ""', ""]
    return "\n".join(lines).rstrip()
