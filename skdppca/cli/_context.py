"""The file that states what no program can find out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..report import Context

__all__ = ["context_of"]


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
        text = path.read_text(encoding="utf-8")
        twice = _named_twice(yaml.compose(text, yaml.SafeLoader))
        answers = {} if twice else yaml.safe_load(text)
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
    names = [str(key.value) for key, _ in node.value]
    return [name for name in names if names.count(name) > 1]
