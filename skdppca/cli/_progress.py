"""A progress bar on a terminal, which moves at public steps only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ["progress"]


@contextmanager
def progress(steps: int) -> Iterator[Callable[[str], None]]:
    """Yield a function that announces the next of `steps` steps.

    The bar never moves within a step, because the progress of a pass would reveal the number of
    rows. Without a terminal, or without rich, there is no bar.
    """
    bar = _bar() if sys.stderr is not None and sys.stderr.isatty() else None
    if bar is None:
        yield lambda name: None
        return
    task = bar.add_task("", total=steps)
    done = iter(range(steps))

    def step(name: str) -> None:
        bar.update(task, description=name, completed=next(done))
        with suppress(OSError):  # a terminal that was closed ends no fit
            bar.refresh()

    try:
        with suppress(OSError):
            bar.start()
        yield step
    finally:
        with suppress(OSError):
            bar.stop()


def _bar() -> Progress | None:
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError:
        return None
    # Without a thread that refreshes the bar: it moves at the steps only.
    return Progress(
        console=Console(stderr=True),
        transient=True,
        auto_refresh=False,
        redirect_stdout=False,
        redirect_stderr=False,
    )
