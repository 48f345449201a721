from datetime import UTC, datetime, timedelta, timezone

import pytest

from atoll.aws_protocols import scalar_formats

MOMENT = datetime(1994, 11, 6, 8, 49, 37, tzinfo=UTC)
PRECISE = MOMENT.replace(microsecond=123456)


@pytest.mark.parametrize(("text", "value"), [("0", 0), ("-1", -1), ("+7", 7), ("9223372036854775807", 2**63 - 1)])
def test_integers(text, value):
    assert scalar_formats.integer(text) == value


@pytest.mark.parametrize("text", ["", " 1", "1 ", "1_000", "0x1", "1.0", "٣", "1e3", "9" * 20, "--1"])
def test_what_is_no_integer(text):
    with pytest.raises(ValueError):
        scalar_formats.integer(text)


@pytest.mark.parametrize("text", ["2147483648", "-2147483649", "9" * 19, "9" * 5000])
def test_an_integer_of_the_models_has_32_bits_and_a_long_64(text):
    with pytest.raises(ValueError, match="within integer range"):
        scalar_formats.READ["integer"](text)
    assert scalar_formats.READ["integer"]("-2147483648") == -(2**31)
    assert scalar_formats.READ["long"]("2147483648") == 2**31
    with pytest.raises(ValueError, match="within integer range"):
        scalar_formats.READ["long"]("9223372036854775808")


@pytest.mark.parametrize("text", ["nan", "inf", "-Infinity", "1e999", "9" * 5000, ""])
def test_what_is_no_finite_number(text):
    with pytest.raises(ValueError):
        scalar_formats.number(text)
    assert scalar_formats.number("1.5e3") == 1500.0


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "999999999999", "-999999999999", "9" * 5000, "Mon, 01 Jan 0000 00:00:00 GMT"])
def test_a_date_that_no_calendar_has_is_no_moment(text):
    with pytest.raises(ValueError):
        scalar_formats.timestamp(text)


@pytest.mark.parametrize(("text", "value"), [("true", True), ("TRUE", True), (" false ", False), ("False", False)])
def test_booleans(text, value):
    assert scalar_formats.boolean(text) is value


@pytest.mark.parametrize("text", ["", "1", "yes"])
def test_what_is_no_boolean(text):
    with pytest.raises(ValueError):
        scalar_formats.boolean(text)


@pytest.mark.parametrize(
    "text",
    [
        "1994-11-06T08:49:37Z",
        "1994-11-06T08:49:37.000Z",
        "1994-11-06T09:49:37+01:00",
        "1994-11-06T08:49:37",
        "19941106T084937Z",
        "784111777",
        "784111777.0",
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
        "Sun, 6 Nov 1994 08:49:37 +0000",
        "06 Nov 1994 08:49:37 GMT",
        " Sun, 06 Nov 1994 08:49:37 GMT ",
    ],
)
def test_one_moment_in_many_forms(text):
    assert scalar_formats.timestamp(text) == MOMENT


@pytest.mark.parametrize(
    "text", ["", "now", "Sun, 06 Nov", "1994-13-01", "Sun, 31 Feb 2026 00:00:00 GMT", "Sun, 06 Foo 1994 08:49:37 GMT"]
)
def test_what_is_no_moment(text):
    with pytest.raises(ValueError):
        scalar_formats.timestamp(text)


def test_a_date_without_a_time_is_midnight():
    assert scalar_formats.timestamp("2026-01-01") == datetime(2026, 1, 1, tzinfo=UTC)


def test_two_digit_years_turn_in_1970():
    assert scalar_formats.timestamp("Sunday, 06-Nov-69 00:00:00 GMT").year == 2069


def test_an_http_date():
    assert scalar_formats.http_date(PRECISE) == "Sun, 06 Nov 1994 08:49:37 GMT"


def test_an_http_date_is_in_gmt_whatever_the_zone():
    assert scalar_formats.http_date(MOMENT.astimezone(timezone(timedelta(hours=9)))) == "Sun, 06 Nov 1994 08:49:37 GMT"


def test_iso_forms():
    assert scalar_formats.iso_whole(PRECISE) == "1994-11-06T08:49:37.000Z"
    assert scalar_formats.iso_millis(PRECISE) == "1994-11-06T08:49:37.123Z"
    assert scalar_formats.iso_seconds(PRECISE) == "1994-11-06T08:49:37Z"


def test_epoch_seconds_are_whole_where_they_can_be():
    assert repr(scalar_formats.epoch(MOMENT)) == "784111777"
    assert scalar_formats.epoch(PRECISE) == pytest.approx(784111777.123456)


def test_blobs_are_base64():
    assert scalar_formats.blob("AP8=") == b"\x00\xff"
    assert scalar_formats.base64(b"\x00\xff") == "AP8="


def test_a_blob_that_is_not_base64_is_refused():
    with pytest.raises(ValueError):
        scalar_formats.blob("é")
