"""Pictures of what was released, and of what a fit would find.

All are drawn from private outputs, or from public numbers only.
"""

from ._curve import PrivacyCurveDisplay
from ._images import ComponentsImageDisplay
from ._ledger import LedgerDisplay
from ._loadings import LoadingsDisplay
from ._map import ProjectionMapDisplay
from ._plan import PlanDisplay
from ._scree import ScreeDisplay

__all__ = [
    "ComponentsImageDisplay",
    "LedgerDisplay",
    "LoadingsDisplay",
    "PlanDisplay",
    "PrivacyCurveDisplay",
    "ProjectionMapDisplay",
    "ScreeDisplay",
]
