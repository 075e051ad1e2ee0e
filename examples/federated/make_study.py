"""Write study.json into this folder: what all hospitals agree on, with their public keys."""

import argparse

from command import call
from make_data import MEANS

from skdppca.federated import Study


def main(sites: list[tuple[str, str]]) -> None:
    """Write down what all sites agree on, once."""
    Study(
        name="cardio",
        sites=dict(sites),
        columns=tuple(MEANS),
        unit="row",  # one row a patient
        max_rows=2**16,
        max_sites_per_person=1,  # no patient is in two hospitals
    ).write("study.json")


def named_key(text: str) -> tuple[str, str]:
    """The name and the public key of a hospital."""
    name, equals, key = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no NAME=KEY; write such as north=0a1b..."
        )
    return name, key


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "sites",
        metavar="NAME=KEY",
        nargs="+",
        type=named_key,
        help="a hospital and the public key that `skdppca site key` printed for it, 64 digits",
    )
    call(main, parser)
