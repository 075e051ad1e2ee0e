"""What may be asked of the records: a closed set of sums, each beside its proof."""

from ..records import KINDS, Measure, View
from .base import Rounding, Statistic, around
from .captured import CapturedTotal
from .cells import Histogram
from .columns import ColumnCells, MeanSquares
from .counts import BoundedTotal, Count, CountBeyond, CountsBeyond, MeasureHistogram
from .cross import CrossNorms, CrossSum
from .gram import ClippedGram, clip_measure
from .measures import Distances, GramNorms, ResidualNorms, RowCounts, Spreads, Squares
from .pairs import AdjacentDifferences, KendallMatrix
from .products import NormProduct, ProductSum
from .residuals import ResidualSum
from .score_gram import ScoreGram
from .sums import ClippedSum
from .views import Explicit, Interactions, LargestEntries, MeanRows, Scaled, Scores, Shifted

__all__ = [
    "KINDS",
    "AdjacentDifferences",
    "BoundedTotal",
    "CapturedTotal",
    "ClippedGram",
    "ClippedSum",
    "ColumnCells",
    "Count",
    "CountBeyond",
    "CountsBeyond",
    "CrossNorms",
    "CrossSum",
    "Distances",
    "Explicit",
    "GramNorms",
    "Histogram",
    "Interactions",
    "KendallMatrix",
    "LargestEntries",
    "MeanRows",
    "MeanSquares",
    "Measure",
    "MeasureHistogram",
    "NormProduct",
    "ProductSum",
    "ResidualNorms",
    "ResidualSum",
    "Rounding",
    "RowCounts",
    "Scaled",
    "ScoreGram",
    "Scores",
    "Shifted",
    "Spreads",
    "Squares",
    "Statistic",
    "View",
    "around",
    "clip_measure",
]
