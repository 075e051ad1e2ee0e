"""Pictures of what was released, and of what a fit would find.

All are drawn from private outputs, or from public numbers only.
"""

from ._fitted import components_image, scree
from ._ledger import LedgerDisplay
from ._map import projection_map
from ._plan import plan

__all__ = ["LedgerDisplay", "components_image", "plan", "projection_map", "scree"]
