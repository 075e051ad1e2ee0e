"""One private PCA over several sites, none of which shares a record."""

try:
    import cryptography  # noqa: F401
except ImportError as error:
    from ..privacy.installing import how_to_install

    raise ImportError(
        f"skdppca.federated needs the package cryptography; {how_to_install('federated')}",
        name=error.name,
    ) from error

from .estimating import fit_sites
from .federation import SitesError
from .identity import Identity
from .messages import Refusal
from .policy import Policy
from .site import Site
from .study import Study
from .transport import LocalSites

__all__ = [
    "Identity",
    "LocalSites",
    "Policy",
    "Refusal",
    "Site",
    "SitesError",
    "Study",
    "fit_sites",
]
