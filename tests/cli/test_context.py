"""The file that declares what a release cannot know of itself."""

import pytest

from .conftest import is_one_line_error


def test_a_context_that_is_missing_is_named_with_its_option(fit, tmp_path):
    result = fit("--context", tmp_path / "missing.yaml")
    assert is_one_line_error(result)
    assert f"--context {tmp_path / 'missing.yaml'} cannot be read (No such file" in result.err


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("region: a\ncurator: b\nregion: c\n", "states region twice"),
        ("region: &a [*a]\n", "region is of type list, and no text"),
        ("[" * 5000, "is no YAML"),
        ("- region\n", "a context maps names to text"),
        ("false\n", "a context maps names to text"),
        ("fitted_before: no\n", "fitted_before is of type bool, and no text"),
        (f"region: {'9' * 5000}\n", "is no YAML"),
        ("region: [&a [x, x], &b [*a, *a], *b]\n", "region is of type list, and no text"),
    ],
)
def test_a_context_that_says_nothing_clear_is_an_error_of_one_line(text, says, fit, tmp_path):
    (tmp_path / "context.yaml").write_text(text)
    result = fit("--context", tmp_path / "context.yaml")
    assert is_one_line_error(result) and says in result.err
    assert len(result.err) < 1000
