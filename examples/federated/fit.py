"""The analyst's script: three private components of the patients of all hospitals.

It reads ca.crt, study.json and analyst.key of the folder that you are in.
"""

import argparse
import sys

from command import call

from skdppca import DPGauss
from skdppca.federated import Identity, SitesError, Study, fit_sites
from skdppca.federated.flower import FlowerTransport


def main(server: str) -> None:
    """Fit three private components of all patients, and print what they are and what it cost."""
    pca = DPGauss(n_components=3, epsilon=1.0, delta=1e-6, scale="private")
    study, analyst = Study.read("study.json"), Identity.read("analyst.key")
    try:
        with FlowerTransport(server, root_certificates="ca.crt") as sites:
            fit_sites(pca, study=study, transport=sites, analyst=analyst)
    except SitesError as error:
        sys.exit(str(error))
    print(pca.privacy_)
    print(
        f"release {pca.privacy_.release_id}"
    )  # the ledgers show its first 16 digits
    for component in pca.components_:
        terms = sorted(
            zip(component, pca.feature_names_in_, strict=True),
            key=lambda t: -abs(t[0]),
        )
        print("  ".join(f"{weight:+.2f} {name}" for weight, name in terms[:4]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "server", metavar="HOST:PORT", help="of the server, as in 127.0.0.1:8000"
    )
    call(main, parser)
