"""``python -m skdppca`` is the command ``skdppca``."""

from .cli import main

if __name__ == "__main__":
    raise SystemExit(main())
