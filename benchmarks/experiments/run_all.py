"""All figures in turn; the options are those of a single one. It goes on where it was stopped."""

from importlib import import_module

from _figures import run_all

NAMES = ("1a", "1b", "1c", "2a", "2b", "2c", "3", "4")

if __name__ == "__main__":
    run_all([import_module(f"figure_{name}").FIGURE for name in NAMES])
