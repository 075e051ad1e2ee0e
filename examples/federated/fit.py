"""The analyst's script: python fit.py HOST:PORT [RUN]."""

import sys

from skdppca import DPGauss
from skdppca.federated import Identity, SitesError, Study, fit_sites
from skdppca.federated.flower import FlowerTransport


def main(server: str, run: str | None = None) -> None:
    """Fit three private components of all patients, and print what they are and what it cost."""
    pca = DPGauss(n_components=3, epsilon=1.0, delta=1e-6, scale="private")
    try:
        with FlowerTransport(server, root_certificates="ca.crt") as sites:
            fit_sites(
                pca,
                study=Study.read("study.json"),
                transport=sites,
                analyst=Identity.read("analyst.key"),
                run=run,
            )
    except SitesError as error:  # such as plans that people have to approve first
        sys.exit(str(error))
    print(pca.privacy_)
    for component in pca.components_:
        terms = sorted(zip(component, pca.feature_names_in_, strict=True), key=lambda t: -abs(t[0]))
        print("  ".join(f"{weight:+.2f} {name}" for weight, name in terms[:4]))


if __name__ == "__main__":
    main(*sys.argv[1:])
