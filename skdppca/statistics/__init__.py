"""Statistics of the records: a closed set of sums, each beside its proof."""

from ..records import KINDS, Measure, View
from .base import Rounding, Statistic, around
from .columns import ColumnCells, MeanSquares
from .counts import BoundedTotal, Count, CountBeyond, Histogram, MeasureHistogram
from .gram import ClippedGram, clip_measure
from .measures import Distances, GramNorms, ResidualNorms, RowCounts, Spreads, Squares
from .pairs import AdjacentDifferences, KendallMatrix
from .products import CrossNorms, CrossSum, NormProduct, ProductSum, ResidualSum
from .score_gram import CapturedTotal, ScoreGram
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
