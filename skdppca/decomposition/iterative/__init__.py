"""Methods that look at the records through private means of their products with a few vectors."""

from .deflation import Deflation
from .kdpojas import KDPOjas
from .kdppca import KDPPCA
from .oracles import OjasOracle, Oracle, PowerOracle

__all__ = ["KDPPCA", "Deflation", "KDPOjas", "OjasOracle", "Oracle", "PowerOracle"]
