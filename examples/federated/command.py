"""How the scripts of this folder are called: what goes wrong is one line, and no traceback."""

import argparse
from collections.abc import Callable

__all__ = ["call"]


def call(main: Callable[..., None], parser: argparse.ArgumentParser) -> None:
    """Call ``main`` with the arguments of the command line."""
    try:
        main(**vars(parser.parse_args()))
    except (OSError, ValueError) as error:
        parser.exit(1, f"{parser.prog}: {error}\n")
