"""The judge of histories is judged first."""

import math

from models.linearizable import Operation, is_linearizable


def wrote(began, ended, value, **more):
    return Operation(began, ended, (lambda _: (value,),), **more)


def read(began, ended, value):
    return Operation(began, ended, (lambda state: (state,) if state == value else None,))


def test_one_after_the_other():
    assert is_linearizable([wrote(0, 1, "a"), read(2, 3, "a"), wrote(4, 5, "b"), read(6, 7, "b")])


def test_an_old_value_after_a_new_one_was_answered_is_no_order():
    assert not is_linearizable([wrote(0, 1, "a"), wrote(2, 3, "b"), read(4, 5, "a")])


def test_while_a_write_runs_both_values_are_right_but_never_new_then_old():
    write = [wrote(0, 1, "a"), wrote(2, 9, "b")]
    assert is_linearizable([*write, read(3, 4, "a"), read(5, 6, "b")])
    assert not is_linearizable([*write, read(3, 4, "b"), read(5, 6, "a")])


def test_a_write_without_an_answer_may_have_happened_or_not_or_later():
    write = [wrote(0, 1, "a"), wrote(2, math.inf, "b", maybe=True)]
    assert is_linearizable([*write, read(3, 4, "a")])
    assert is_linearizable([*write, read(3, 4, "a"), read(5, 6, "b")])
    assert not is_linearizable([*write, read(3, 4, "b"), read(5, 6, "a")])


def test_of_two_that_must_find_nothing_one_wins():
    def create(began, ended, value):
        return Operation(began, ended, (lambda state: (value,) if state is None else None,))

    assert not is_linearizable([create(0, 5, "a"), create(1, 6, "b")])
    assert is_linearizable([create(0, 5, "a")])
