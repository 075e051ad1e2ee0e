"""The noisy Kendall matrix of the records, which needs no centre: of all pairs, or of some."""

from __future__ import annotations

import numpy as np

from ..private_data import PrivateData
from ..records.pairs import Kernel
from ..statistics import KendallMatrix
from .base import BUDGET

# All pairs are formed of at most this (noisy) number of records, if the sd of the number's noise is
# known to be at most the second constant.
COMPLETE_UP_TO = 2**13
LARGEST_COUNT_SD = 1000.0


def count_sd(data: PrivateData) -> float:
    """Sd of the noise in the number of records."""
    told = data.public.n_records is not None
    return 0.0 if told else 1 / data.fraction(BUDGET.question_share)


def forms_all_pairs(data: PrivateData) -> bool:
    """Decide on the (noisy) number of records whether all of their pairs are formed."""
    # Only on a count that cannot be off by as much as `MAX_COMPLETE`: 100 sds, at least.
    return data.n <= COMPLETE_UP_TO and count_sd(data) <= LARGEST_COUNT_SD


def kendall_matrix(
    data: PrivateData, kernel: Kernel, n_pairs: int | None = None
) -> tuple[np.ndarray, float]:
    """Spend all that is left on the Kendall matrix, times n / 2; also the noise's sd.

    Parameters
    ----------
    data : PrivateData
        Mean rows in a random order (`PrivateData.mean_rows`, `PrivateData.shuffled`).
    kernel : Kernel
    n_pairs : int, optional
        Others that a record meets, an even number; by default all.
    """
    offsets = None if n_pairs is None else n_pairs // 2
    kendall = KendallMatrix(data.n_features, kernel.radius, offsets, kernel.xi, data.centre)
    answer = data.ask(kendall, name="Kendall matrix")
    return answer.value, answer.noise_sd
