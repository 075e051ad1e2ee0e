import threading

import pytest

from skdppca.privacy.composition import Log


def test_a_longer_log_shares_the_memory_and_leaves_the_shorter_one():
    short = Log("ab")
    long = short.appended("c")
    assert long._items is short._items
    assert (list(short), list(long), len(short)) == (list("ab"), list("abc"), 2)
    with pytest.raises(IndexError):
        short[2]


def test_logs_that_branch_do_not_see_each_other():
    stem = Log("ab")
    first, second = stem.appended("c"), stem.appended("d")
    longer = [log.appended("e") for log in (first, second, stem)]
    assert ["".join(log) for log in (stem, first, second, *longer)] == [
        *("ab", "abc", "abd", "abce", "abde", "abe")
    ]


def test_threads_that_append_to_one_log_do_not_see_each_other():
    stem, wrong = Log(), []

    def work(name):
        for _ in range(300):
            log, own = stem, [(name, place) for place in range(20)]
            for item in own:
                log = log.appended(item)
            if list(log) != own:
                wrong.append(log)

    threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
