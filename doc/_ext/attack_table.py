"""``.. attack-table::``: what an attacker can do at most, computed by the package.

For Gaussian releases at delta 1e-6, one record. All figures are rounded up.
"""

import math

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from skdppca.privacy import GaussianEvent, coin, detection_rate, mu_of

EPSILONS = (0.1, 0.5, 1, 2, 3, 5, 10)
DELTA = 1e-6
HOUSEHOLD = 4


def percent(share: float) -> str:
    """Return a share in per cent, rounded up to a tenth."""
    return f"{math.ceil(1000 * min(share, 1) - 1e-9) / 10:.1f} %"


def coin_by_pair(epsilon: float) -> float:
    """Return what epsilon and delta alone say about the coin."""
    return 1 - (1 - DELTA) / (1 + math.exp(epsilon))


def attacks() -> list[tuple[str, ...]]:
    """Return what an attack on a record, and on a household, achieves."""
    rows = [
        (
            "epsilon",
            "found, 5 % false alarms",
            "found, 1 % false alarms",
            "coin guessed",
            f"coin guessed, household of {HOUSEHOLD}",
        )
    ]
    for epsilon in EPSILONS:
        event = GaussianEvent(mu_of(epsilon, DELTA))
        found = detection_rate(event, 0.05), detection_rate(event, 0.01)
        figures = *found, coin(event), coin(event, units=HOUSEHOLD)
        rows.append((f"{epsilon:g}", *map(percent, figures)))
    return rows


def exactness() -> list[tuple[str, ...]]:
    """Return what mu adds to epsilon and delta."""
    rows = [("epsilon", "mu", "coin guessed, by mu", "coin guessed, by epsilon and delta alone")]
    for epsilon in EPSILONS:
        mu = mu_of(epsilon, DELTA)
        shares = coin(GaussianEvent(mu)), coin_by_pair(epsilon)
        rows.append((f"{epsilon:g}", f"{math.ceil(1000 * mu) / 1000:.3f}", *map(percent, shares)))
    return rows


TABLES = {"attacks": attacks, "exactness": exactness}


class AttackTable(SphinxDirective):
    """The table of that name, as a list-table."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        lines = [".. list-table::", "   :header-rows: 1", ""]
        for row in TABLES[self.arguments[0]]():
            lines += [f"   {'*' if not i else ' '} - {cell}" for i, cell in enumerate(row)]
        return self.parse_text_to_nodes("\n".join(lines))


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directive."""
    app.add_directive("attack-table", AttackTable)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
