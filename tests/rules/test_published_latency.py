from atoll.rules.published_latency import (
    ALL_THREE_BUCKETS_S,
    HOME,
    PREDICTED,
    READABLE_IN_TOKYO_S,
    S3_API,
    measured_inside,
)


def test_there_are_eight_cells_of_four_places_and_two_paths():
    assert len(S3_API) == 8
    assert {place for place, _ in S3_API} == {"us-east-1", "us-west-2", "eu-central-1", "ap-northeast-1"}


def test_every_tail_is_longer_than_its_median():
    assert all(figure.p95 > figure.p50 for figure in S3_API.values())


def test_what_was_measured_inside_a_region_is_the_access_point_and_at_home_both_paths():
    assert measured_inside("ap-northeast-1", "mrap") == S3_API["ap-northeast-1", "mrap"]
    assert measured_inside(HOME, "single") == S3_API[HOME, "single"]
    assert measured_inside(HOME, "mrap") == S3_API[HOME, "mrap"]


def test_a_far_cell_is_never_fitted_from_itself():
    assert measured_inside("ap-northeast-1", "single") is None
    assert measured_inside("us-west-2", "single") is None


def test_regions_that_were_not_measured_have_no_figure():
    assert measured_inside("sa-east-1", "mrap") is None


def test_the_predictions_are_the_two_far_cells_whose_link_is_independent():
    assert PREDICTED == {("ap-northeast-1", "single"), ("eu-central-1", "single")}


def test_five_overwrites_were_published_and_the_access_point_is_never_later_than_all_buckets():
    assert len(ALL_THREE_BUCKETS_S) == len(READABLE_IN_TOKYO_S) == 5
    assert all(readable <= everywhere for readable, everywhere in zip(READABLE_IN_TOKYO_S, ALL_THREE_BUCKETS_S, strict=True))
