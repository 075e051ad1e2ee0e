"""What DPGauss releases of people who come later, and of all who came before with them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...mechanisms.base import BUDGET, Mechanism, Release
from ...mechanisms.centre import improved_centre
from ...mechanisms.clipping import searches
from ...mechanisms.gram import release_gram
from ...mechanisms.missing import HIDING, without_empty
from ...mechanisms.noisy_covariance import NoisyCovariance
from ...mechanisms.scatter import NoisyScatter
from ...private_data import PrivateData


@dataclass(frozen=True)
class CohortConstants:
    """What a later cohort spends beside its matrix."""

    # Share of mu^2 of its mean, which improves the centre: round.
    centre_share: float = 0.045


COHORT = CohortConstants()


@dataclass(frozen=True)
class NextCohort:
    """The matrix of people who come later; nothing that earlier ones showed is looked for again.

    Parameters
    ----------
    reader : NoisyCovariance
    before : NoisyScatter
        Of the people before, in units of the records that `run` is given.
    """

    reader: NoisyCovariance
    before: NoisyScatter

    def run(self, data: PrivateData) -> Release:
        """Release the matrix; the records are about the mean of those before."""
        reader, before = self.reader, self.before
        # 1. n: how many records
        data = data.ask_count(data.fraction(BUDGET.question_share))
        # 2. c: the mean of those before, improved by that of these
        if reader.center:
            mu = data.fraction(COHORT.centre_share)
            data = improved_centre(data, before.distance, before.mean_variance, mu)
        # 3. how many rows there are
        n_rows = reader.rows(data)
        # 4. the noisy Gram matrix, with the clipping norm R of those before
        median = before.median if before.spherical else None
        clipping = reader.augmented(before.clip, median, data, n_rows)
        gram = release_gram(data, clipping.clip, clipping.constant)
        matrix = reader.scatter(gram, data, clipping, n_rows, before.distance)
        return Release(
            components=np.empty((0, data.n_features)),
            centre=matrix.mean,
            n_samples=matrix.n_records,
            matrix=matrix,
        )


@dataclass(frozen=True)
class JoinedMechanism:
    """The matrix of people who come later, and all that is read off it and those before.

    Parameters
    ----------
    reader : NoisyCovariance
    method : Mechanism
        What releases their matrix: `NextCohort`, and what absent entries need.
    before : NoisyScatter
    forget : float or "auto"
        What the weight of the matrix before is multiplied by.
    """

    reader: NoisyCovariance
    method: Mechanism
    before: NoisyScatter
    forget: float | str

    def run(self, data: PrivateData) -> Release:
        """Ask for one matrix; all else is post-processing."""
        reader, before = self.reader, self.before
        # 1. their matrix, in the units of those before
        # no unit was found for a feature that was empty then, so it stays hidden
        unknown = (before.present == 0) & reader.correlate
        seen = data
        if reader.correlate:
            seen = data.scaled(np.where(unknown, HIDING, before.units))
        found = self.method.run(seen.centred_at(before.mean / np.where(unknown, HIDING, 1.0)))
        if found.matrix is None:
            raise RuntimeError("a cohort released no matrix: a fault of skdppca")
        matrix = replace(found.matrix, units=before.units).without(unknown, before.mean)
        # 2. how far they differ, and what is forgotten of those before
        wanted = reader.n_components
        drift = before.drift(matrix, wanted if isinstance(wanted, int) else None)
        kept = before.forgetting(drift.excess) if self.forget == "auto" else float(self.forget)
        # 3. one matrix, and what it shows
        merged = before.merged(matrix, kept)
        release = reader.read(merged, searches(data))
        scale = release.scale
        if reader.correlate:
            scale = before.units if scale is None else before.units * scale
        details = {**release.details, "cohort": (found.n_samples, drift.z, kept)}
        if "present" in found.details:
            details["present"] = merged.present
        release = replace(release, scale=scale, matrix=merged, details=details)
        empty = merged.present == 0
        return without_empty(empty, release, merged.mean) if empty.any() else release
