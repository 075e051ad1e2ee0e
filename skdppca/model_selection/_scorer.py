"""The private score of components: how much of the clipped records they capture."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..mechanisms.centre import rough_centre
from ..mechanisms.clipping import clip_radius, expected_norms
from ..privacy import Spender
from ..private_data import PrivateData
from ..statistics import CapturedTotal, Spreads

__all__ = ["Scorer", "prepare_scorer"]

# Of what is asked before the first score: the number of records. A centre takes what it takes of
# a fit (up to a third), and the radius gets all the rest.
COUNT_SHARE = 0.1


@dataclass(frozen=True)
class Scorer:
    """Scores components on the same records, with fresh noise every time.

    Parameters
    ----------
    data : PrivateData
        About a centre that is public or was released. A score does not spend its budget: what a
        run costs is part of the price of the whole search.
    radius : float
        What the records are clipped to.
    mu : float
        The cost of one score.
    """

    data: PrivateData
    radius: float
    mu: float

    def __call__(self, components: np.ndarray) -> float:
        """``(sum_u w_u^2 ||Y_u V^T||^2 + noise) / n``; see `CapturedTotal`."""
        axes = np.linalg.qr(np.asarray(components, np.float64).T)[0].T
        run = replace(self.data, spender=Spender(self.mu))
        return float(run.ask(self._captured(axes), name="score").value) / self.data.n

    @property
    def noise_sd(self) -> float:
        """Of a score; public by now."""
        nothing = np.zeros((0, self.data.n_features))
        return self.data.noise_sd(self._captured(nothing), self.mu) / self.data.n

    def _captured(self, axes: np.ndarray) -> CapturedTotal:
        return CapturedTotal(self.data.centre, self.radius, np.ascontiguousarray(axes))


def prepare_scorer(data: PrivateData, centred: bool, mu_score: float) -> Scorer:
    """Find what all scores share, with all of the budget.

    Parameters
    ----------
    data : PrivateData
        Its norm bound is one on ``||Y_u||``, and saves the search.
    centred : bool
        Whether a private centre is found.
    mu_score : float
        What one score costs.
    """
    data = data.counted(data.share(COUNT_SHARE))
    if centred:
        data = rough_centre(data).data
    radius = data.norm_bound
    if radius is None:
        name = "clipping norm of the scores"
        spreads, mu_radius = Spreads(data.centre), data.left
        radius = clip_radius(
            data, spreads, 1, mu_score, mu_radius, name, expected=expected_norms(data)
        )
    return Scorer(data, radius, mu_score)
