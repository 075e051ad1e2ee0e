"""The file that declares what a release cannot know of itself."""

from .conftest import is_one_line_error


def test_a_context_that_is_missing_is_named_with_its_option(fit, tmp_path):
    result = fit("--context", tmp_path / "missing.yaml")
    assert is_one_line_error(result)
    assert f"--context {tmp_path / 'missing.yaml'} cannot be read (No such file" in result.err
