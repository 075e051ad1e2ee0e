"""What shows that other code makes the same numbers, and which tables it leaves fresh."""

from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

from skdppca import DPGauss

from ..benchmark_modules import load

MEASURE, PUBLISHED, REGISTRY, SAME_BITS = map(
    load, ("measure", "published", "registry", "same_bits")
)
ROWS = np.random.default_rng(0).standard_normal((300, 4))


def fitted(rows=ROWS, **parameters):
    return SAME_BITS.bits(DPGauss(2, delta=1e-6, random_state=0, **parameters).fit(rows))


def test_a_fit_that_is_repeated_has_the_same_bits():
    assert fitted() == fitted()


@pytest.mark.parametrize(
    "other",
    [
        {"epsilon": float(np.nextafter(1.0, 2.0))},
        {"adjacency": "replace-one"},
        {"rows": ROWS.astype(np.float32)},
    ],
)
def test_the_last_bit_of_a_number_that_was_released_is_seen(other):
    assert fitted(**other) != fitted()


def test_every_method_and_kind_of_table_is_compared(tmp_path):
    names = [name for name, _ in SAME_BITS.cases(tmp_path)]
    assert len(set(names)) == len(names) > 800
    for one in (
        "PrivatePCA, groups in a file",
        "DPGauss, two cohorts",
        "KDPOjas, missing",
        "search",
    ):
        assert any(name.startswith(one) for name in names), one


@pytest.mark.parametrize(("kept", "left"), [(True, set()), (True, {"a"}), (False, set())])
def test_what_was_fresh_alone_is_carried(tmp_path, monkeypatch, kept, left):
    """A table of accuracy, by the same script; one that was stale already stays so, as one that
    is left out does."""
    part = SimpleNamespace(script="bench_x.py", digest="today", times=False, tables=("a", "b"))
    digests = {"a": "then", "b": "long ago"}
    monkeypatch.setattr(REGISTRY, "PARTS", (part,))
    monkeypatch.setattr(REGISTRY, "stored", lambda table: True)
    monkeypatch.setattr(MEASURE, "digest_of", digests.get)
    monkeypatch.setattr(MEASURE, "carry", lambda table, part: digests.update({table: part.digest}))
    monkeypatch.setattr(SAME_BITS, "digests_in", lambda tree: {"bench_x.py": ("today", "script")})
    before = {"bench_x.py": ("then", "script" if kept else "another script")}
    carried = kept and not left
    assert SAME_BITS.carry(before, leave=left) == (["a"] if carried else [])
    assert digests == {"a": "today" if carried else "then", "b": "long ago"}


@pytest.mark.parametrize(
    ("known", "fault"), [([], 1), (["DPGauss, many rows"], 0), (["DPGauss, few rows"], 1)]
)
def test_what_differs_is_a_fault_unless_it_is_known(monkeypatch, known, fault):
    found = {"DPGauss, many rows, {}": [1.0], "KDPPCA, many rows, {}": [1.0]}
    monkeypatch.setattr(SAME_BITS, "digests_in", lambda tree: {})
    monkeypatch.setattr(SAME_BITS, "checked_out", lambda commit: nullcontext("then"))
    was = found | {"DPGauss, many rows, {}": [2.0]}
    monkeypatch.setattr(SAME_BITS, "found_in", lambda tree: was if tree == "then" else found)
    monkeypatch.setattr("sys.argv", ["same_bits.py", "COMMIT", "--known", *known])
    assert SAME_BITS.main() == fault


def test_a_digest_that_is_carried_leaves_the_table_as_it_is(tmp_path, monkeypatch):
    path = tmp_path / "x.csv"
    path.write_text("# date: 2026-01-01\n# sources: then\na,b\n1,then\n")
    monkeypatch.setattr(MEASURE._common, "RESULTS", tmp_path)
    monkeypatch.setattr(MEASURE.keys, "table_path", lambda table: path)
    for digest in ("later", "today"):
        MEASURE.carry("x", SimpleNamespace(digest=digest, times=False))
    told = "# sources: today\n# measured with: then\n"
    assert path.read_text() == f"# date: 2026-01-01\n{told}a,b\n1,then\n"
    assert (MEASURE.digest_of("x"), MEASURE.made_by("x")) == ("today", "then")


def test_a_digest_of_an_experiment_is_carried_beside_that_which_made_it(tmp_path, monkeypatch):
    monkeypatch.setattr(MEASURE, "EXPERIMENTS", tmp_path / "experiments.csv")
    part = SimpleNamespace(digest="then", times=False, tables=("figure_1a_summary",))
    MEASURE.note(part)
    assert MEASURE.made_by("figure_1a_summary") == "then"
    MEASURE.carry("figure_1a_summary", SimpleNamespace(digest="today", times=False))
    digests = MEASURE.digest_of("figure_1a_summary"), MEASURE.made_by("figure_1a_summary")
    assert digests == ("today", "then")


def test_times_are_never_carried():
    with pytest.raises(ValueError, match="measure it again"):
        MEASURE.carry("speed", SimpleNamespace(digest="today", times=True))


def test_times_of_other_code_are_a_fault():
    carried = ["methods_accuracy", "speed"]
    assert PUBLISHED.times_of_other_code(carried) == ["speed holds times of other code"]


@pytest.mark.parametrize("but", [set(), {"components_"}, {"mean_"}])
def test_what_may_differ_carries_no_table_that_reads_it(tmp_path, monkeypatch, but):
    script = tmp_path / "bench_x.py"
    script.write_text("print(pca.components_)")
    part = SimpleNamespace(
        script="bench_x.py", path=script, digest="today", times=False, tables=("a",)
    )
    carried = []
    monkeypatch.setattr(SAME_BITS.sources, "BENCHMARKS", tmp_path)
    monkeypatch.setattr(REGISTRY, "PARTS", (part,))
    monkeypatch.setattr(REGISTRY, "stored", lambda table: True)
    monkeypatch.setattr(MEASURE, "digest_of", lambda table: "then")
    monkeypatch.setattr(MEASURE, "carry", lambda table, part: carried.append(table))
    monkeypatch.setattr(SAME_BITS, "digests_in", lambda tree: {"bench_x.py": ("today", "script")})
    SAME_BITS.carry({"bench_x.py": ("then", "script")}, but)
    assert carried == ([] if "components_" in but else ["a"])


def test_names_that_may_differ_are_left_out_at_any_depth():
    told = {"a": 1, "b": [{"a": 2, "c": 3}]}
    assert SAME_BITS.without(told, {"a"}) == {"b": [{"c": 3}]}
