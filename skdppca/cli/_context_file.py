"""The file that states what no program can find out."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from ..report import Context
from ..report._plain import read_plain

__all__ = ["context_of"]

# Bytes of the file: each answer with every letter written as \\U0001F600, and comments.
MOST_STATED = 2**20

# In the place of what no answer is.
EMPTY: dict[str, Any] = {"sequence": [], "mapping": {}}


def context_of(path: Path | None) -> Context | None:
    """What a file declares about a release.

    Raises
    ------
    ValueError, TypeError, OSError, ImportError
    """
    if path is None:
        return None
    try:
        import yaml
    except ImportError:
        raise ImportError("--context needs PyYAML; pip install 'skdppca[report]'") from None
    answers: Any = None
    try:
        node = yaml.compose(read_plain(path, MOST_STATED, links=True).decode(), yaml.SafeLoader)
        twice = _named_twice(node)
        answers = {} if twice else _flat(node, yaml.SafeLoader(""))
        wrong = f"states {twice[0]} twice" if twice else ""
    except OSError as error:
        wrong = f"cannot be read ({error.strerror}); check the path"
    except UnicodeError:
        wrong = "is not in UTF-8"
    except (yaml.YAMLError, ValueError, RecursionError):  # too long a number, too deep a list
        wrong = "is no YAML"
    if not wrong:
        try:
            return Context.from_dict({} if answers is None else answers)
        except (TypeError, ValueError) as error:
            wrong = f"declares what a report has no place for: {error}"
    raise ValueError(f"--context {path} {wrong}; see skdppca.report.Context for what it may hold")


def _named_twice(node: Any) -> list[str]:
    """Names that a mapping has more than once: YAML would take the last answer."""
    if getattr(node, "id", None) != "mapping":
        return []
    counts = Counter(str(key.value) for key, _ in node.value)
    return [name for name, count in counts.items() if count > 1]


def _flat(node: Any, loader: Any) -> Any:
    """What a document holds, and of nested lists and mappings only that they are there.

    Nothing in a context is nested, and aliases within each other can stand for any length.
    """
    if node is None or node.id == "scalar":
        return None if node is None else loader.construct_object(node)
    if node.id == "sequence":
        return []
    return {
        str(key.value): _flat(one, loader) if one.id == "scalar" else EMPTY[one.id]
        for key, one in node.value
    }
