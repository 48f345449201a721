"""Files stay while they are read, and go when nobody wants them."""

from atoll.object_store.disk.file_pins import Pins


def test_a_file_that_nobody_reads_goes_at_once():
    gone = []
    Pins(gone.extend).retire([1, 2])
    assert sorted(gone) == [1, 2]


def test_a_file_goes_with_its_last_reader():
    gone = []
    pins = Pins(gone.extend)
    first, second = pins.pin([1, 2]), pins.pin([1])
    pins.retire([1, 2])
    assert gone == []
    first.close()
    assert gone == [2]
    second.close()
    assert gone == [2, 1]


def test_closing_twice_counts_once():
    gone = []
    pins = Pins(gone.extend)
    first, second = pins.pin([1]), pins.pin([1])
    first.close()
    first.close()
    pins.retire([1])
    assert gone == []
    second.close()
    assert gone == [1]


def test_a_forgotten_reader_is_counted_at_the_next_turn():
    gone = []
    pins = Pins(gone.extend)
    pin = pins.pin([1])
    pins.retire([1])
    del pin
    assert gone == []
    pins.settle()
    assert gone == [1]


def test_a_file_in_use_that_was_not_retired_stays():
    gone = []
    pins = Pins(gone.extend)
    pins.pin([1]).close()
    assert gone == []
