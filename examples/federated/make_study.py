"""Write study.json, which all sites keep: python make_study.py north=KEY south=KEY west=KEY."""

import sys

from make_data import MEANS

from skdppca.federated import Study


def main(sites: dict[str, str]) -> None:
    """Write down what all sites agree on, once."""
    Study(
        name="cardio",
        sites=sites,
        columns=tuple(MEANS),
        unit="row",  # one row a patient
        max_rows=2**16,
        max_sites_per_person=1,  # no patient is in two hospitals
    ).write("study.json")


if __name__ == "__main__":
    main(dict(pair.split("=") for pair in sys.argv[1:]))
