"""The table of tuned numbers lists those that stand in the package, with the values they have."""

from __future__ import annotations

from ..benchmark_modules import load

CONSTANTS = load("bench_constants")
STORED = {row["field"]: row["value"] for row in load("_common").load("constants")[0]}
TODAY = {
    path: f"{CONSTANTS.value_at(these, path):.6g}"
    for path, these in CONSTANTS.numbers(CONSTANTS.all_constants())
}


def test_every_tuned_number_was_tried_with_the_value_that_it_has():
    assert STORED == TODAY, "run `python benchmarks/bench_constants.py --save --only FIELD`"
