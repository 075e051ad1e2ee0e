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
from .federation import Federation, SitesError
from .identity import Identity
from .messages import RunPlan
from .policy import Policy
from .questions import QUESTIONS
from .refusals import Refusal
from .site import Site
from .study import Study
from .transport import LocalSites, Reply, Transport

__all__ = [
    "QUESTIONS",
    "Federation",
    "Identity",
    "LocalSites",
    "Policy",
    "Refusal",
    "Reply",
    "RunPlan",
    "Site",
    "SitesError",
    "Study",
    "Transport",
    "fit_sites",
]
