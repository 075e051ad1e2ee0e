"""Make the analyst's key, and print its public half, which the hospitals need."""

import argparse

from command import call

from skdppca.federated import Identity


def main(file: str) -> None:
    """Make the key."""
    print(Identity.create(file).public)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "file", metavar="FILE", help="for the private key, such as analyst.key"
    )
    call(main, parser)
