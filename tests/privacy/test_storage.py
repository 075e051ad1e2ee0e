"""JSON has one reading only, and a file is replaced whole or not at all."""

import os
import stat

import pytest

from skdppca.privacy.storage import parse_json, replaced

ODD = {
    "a key twice": ('{"a": 1, "a": 2}', "a key twice"),
    "no number": ('{"a": NaN}', "NaN"),
    "infinity": ('{"a": [-Infinity]}', "Infinity"),
    "too deep": ("[" * 100_000, "too deeply"),
    "cut short": ('{"a": 1', "delimiter"),
}


@pytest.mark.parametrize(("text", "says"), ODD.values(), ids=ODD)
def test_text_that_can_be_read_in_two_ways_is_refused(text, says):
    with pytest.raises(ValueError, match=says):
        parse_json(text)


def test_longer_text_is_not_read():
    assert parse_json("[1]", most=3) == [1]
    with pytest.raises(ValueError, match="longer than 3 characters"):
        parse_json("[1] ", most=3)


def test_a_file_is_replaced_at_the_end(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    with replaced(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["file"]


def test_a_file_that_fails_leaves_the_old_one_and_nothing_else(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt), replaced(path) as file:
        file.write(b"half")
        raise KeyboardInterrupt
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


def test_two_writers_do_not_write_into_each_other(tmp_path):
    path = tmp_path / "file"
    with replaced(path) as one, replaced(path) as other:
        one.write(b"one and more")
        other.write(b"other")
    assert path.read_text() == "one and more"


@pytest.mark.parametrize(("mode", "rights"), [((), 0o600), ((0o666,), 0o640)])
def test_only_this_user_reads_a_file_unless_others_may(tmp_path, mode, rights):
    earlier = os.umask(0o027)
    try:
        with replaced(tmp_path / "file", *mode) as file:
            file.write(b"text")
    finally:
        os.umask(earlier)
    assert os.name != "posix" or stat.S_IMODE((tmp_path / "file").stat().st_mode) == rights
