"""Pictures of what was released, and of what a fit would find.

All are drawn from private outputs, or from public numbers only.
"""

from ._curve_display import PrivacyCurveDisplay
from ._images_display import ComponentsImageDisplay
from ._ledger_display import LedgerDisplay
from ._loadings_display import LoadingsDisplay
from ._map_display import ProjectionMapDisplay
from ._plan_display import PlanDisplay
from ._scree_display import ScreeDisplay

__all__ = [
    "ComponentsImageDisplay",
    "LedgerDisplay",
    "LoadingsDisplay",
    "PlanDisplay",
    "PrivacyCurveDisplay",
    "ProjectionMapDisplay",
    "ScreeDisplay",
]
