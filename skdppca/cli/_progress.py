"""A progress bar on a terminal, which moves at public steps only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

# The least step of a bar, as a share of its length.
LEAST_STEP = 0.01


@contextmanager
def progress(steps: int) -> Iterator[Callable[..., None]]:
    """Yield a function that announces the next of `steps` steps, or with ``stay=True`` renames one.

    The bar never moves within a step, because the progress of a pass would reveal the number of
    rows. Without a terminal, or without rich, there is no bar.
    """
    begun = -1

    with moving() as tell:

        def step(name: str, stay: bool = False) -> None:
            nonlocal begun
            begun += not stay
            tell(name, begun / steps)

        yield step


@contextmanager
def moving() -> Iterator[Callable[[str, float], None]]:
    """Yield a function that says what is being done, and which share of all is done.

    It is for work that reads no data, and for `progress`.
    """
    bar = _bar() if sys.stderr is not None and sys.stderr.isatty() else None
    if bar is None:
        yield lambda name, share: None
        return
    task = bar.add_task("", total=1.0)
    shown = ("", -1.0)

    def tell(name: str, share: float) -> None:
        nonlocal shown
        if name == shown[0] and share < shown[1] + LEAST_STEP:
            return
        shown = name, share
        bar.update(task, description=name, completed=share)
        with suppress(OSError):  # a terminal that was closed ends no fit
            bar.refresh()

    try:
        with suppress(OSError):
            bar.start()
        yield tell
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
