"""``skdppca declare``, and the file that states what no program can find out."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..report import Context
from ..report._declare import restated
from ..report._directory import claimed
from ..report._files import FILES
from ..report._release import check_libraries
from ..report._verify import check_directory

__all__ = ["context_of", "declare"]


def declare(options: argparse.Namespace) -> None:
    """Write a copy of a release that states more."""
    if options.title is None and options.context is None:
        raise ValueError("there is nothing to state; give --title TEXT, or --context FILE")
    check_directory(options.directory)
    check_libraries()
    context = context_of(options.context)
    contents = restated(options.directory, options.out, options.title, context)
    with claimed(options.out, FILES, options.force) as directory:
        for name, write in contents.items():
            directory.add(name, write)
        written = directory.publish()
    print(f"Written to {options.out}/: {', '.join(written)}")
    print(f"{options.directory}/ is as it was; publish one of the two.")


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
    wrong: str | None = None
    try:
        return Context.from_dict(yaml.safe_load(path.read_text(encoding="utf-8")) or {})
    except yaml.YAMLError:
        wrong = "is no YAML"
    except OSError as error:
        wrong = f"cannot be read ({error.strerror}); check the path"
    except UnicodeError:
        wrong = "is not in UTF-8"
    except (TypeError, ValueError) as error:
        wrong = f"declares what a report has no place for: {error}"
    raise ValueError(f"--context {path} {wrong}; see skdppca.report.Context for what it may hold")
