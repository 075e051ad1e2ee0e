"""What DPGauss releases: the noisy covariance matrix, and its eigenvectors."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...mechanisms.base import BUDGET, Release
from ...mechanisms.centre import rough_centre
from ...mechanisms.clipping import searches, with_typical_norm
from ...mechanisms.gram import release_gram
from ...mechanisms.nested_release import release_nested
from ...mechanisms.nested_spheres import shows_more
from ...mechanisms.noisy_covariance import NoisyCovariance
from ...mechanisms.sampling import with_sample
from ...mechanisms.unseen import with_unseen
from ...private_data import PrivateData


@dataclass(frozen=True)
class DPGaussMechanism(NoisyCovariance):
    """Analyze Gauss (Dwork, Talwar, Thakurta & Zhang, STOC 2014), told nothing of the data.

    It differs from the paper in that the clipping norm and the mean are private as well, and
    that the noise has the exact scale of the Gaussian mechanism and no more variance off the
    diagonal than it needs.

    Parameters
    ----------
    nested : bool
        Nested spheres instead where they show more.
    keep_matrix : bool
        The noisy matrix is released as well, for what is read off it later.
    """

    nested: bool = False
    keep_matrix: bool = False

    def run(self, data: PrivateData) -> Release:
        """Release the whole noisy spectrum, and as many components as it supports."""
        # 1. n: how many records
        data = data.ask_count(data.fraction(BUDGET.question_share))
        nested = self.nested and shows_more(data, self.n_components)
        if self.center or nested or self.clip == "spherical" or searches(data):
            data = with_sample(data)  # else nobody asks for norms
        # 2. c: a rough centre; of few records without one, how long they are
        radius = None
        if self.center:
            centred = rough_centre(data, not nested and self.corrects(data))
            data, radius = centred.data, centred.radius
        elif nested:
            data = with_typical_norm(data)
        unseen = {"no_centre" if self.center else "no_norms": data.unseen}
        # 3. how many rows there are
        n_rows = self.rows(data)
        if nested:
            length = None if data.public.grouped else radius
            length = length if self.center else data.typical_norm
            release = release_nested(
                data, self.n_components, n_rows, radius=radius, typical_norm=length
            )
            return with_unseen(release, data.public, **unseen)
        # 4. R: the clipping norm around the centre
        clipping = self.clipping(data, n_rows)
        unseen["no_norms"] = clipping.clip.unseen
        # 5. the noisy Gram matrix
        gram = release_gram(data, clipping.clip, clipping.constant)
        # 6. all else is read off it
        matrix = self.scatter(gram, data, clipping, n_rows, radius)
        release = with_unseen(self.read(matrix, searches(data)), data.public, **unseen)
        return replace(release, matrix=matrix) if self.keep_matrix else release
