import re
from html.parser import HTMLParser

import pytest

from atoll.lab.html_report import html

VOID = {"meta", "br", "line", "circle", "path", "polyline"}


class Tags(HTMLParser):
    """Checks that every element is closed in order."""

    def __init__(self):
        super().__init__()
        self.open, self.wrong, self.seen = [], [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        self.open += [] if tag == "meta" else [tag]

    def handle_endtag(self, tag):
        self.wrong += [] if self.open and self.open.pop() == tag else [tag]


@pytest.fixture(params=["aws", "native"])
def page(request, result, samples, links):
    return html(result(request.param), samples, links)


def test_it_asks_the_network_for_nothing(page):
    assert not re.search(r"https?:|<script|@import|url\(|<link |src=", page)


def test_every_element_is_closed(page):
    tags = Tags()
    tags.feed(page)
    assert (tags.wrong, tags.open) == ([], [])


def test_there_is_a_distribution_for_each_place_and_a_map(page):
    assert page.count("<figure>") == 4
    assert page.count("<svg") == 5


def test_all_places_and_links_are_named(page):
    for name in ("us-east-1", "us-west-2", "eu-central-1", "ap-northeast-1", "146.4", "61.2"):
        assert name in page


def test_the_instrument_the_seed_and_the_machine_are_named(page):
    assert "delay wrapper" in page
    assert "profile, seed" in page
    assert "CPUs, Python" in page


def test_published_figures_stand_beside_and_deviations_in_profile_aws(result, samples, links):
    aws, native = (html(result(profile), samples, links) for profile in ("aws", "native"))
    assert "<td>173.6</td>" in aws
    assert "<td>173.6</td>" in native
    assert "<td>-42.4 %</td>" in aws
    assert "deviation" not in native
    assert "faster than AWS" in native


def test_a_partial_page_is_marked_and_has_what_there_is(result, samples, links):
    stages = {"finished": ["world"], "unfinished": ["setup"], "stopped": "interrupted"}
    nothing = result("aws") | {"partial": True, "stages": stages, "cells": [], "initial_copy_s": None, "overhead_ms": {}}
    page = html(nothing, {}, links)
    assert "PARTIAL: interrupted; finished: world; not finished: setup." in page
    assert page.count("<figure>") == 0
    some = html(result("aws") | {"partial": True, "stages": stages}, {"us-west-2": samples["us-west-2"]}, links)
    assert some.count("<figure>") == 1


def test_fitted_and_predicted_cells_are_told_apart(result, samples, links):
    page = html(result("aws"), samples, links)
    assert page.count("<td>predicted</td>") == 2
    assert page.count("<td>fitted</td>") == 6


def test_the_overheads_are_told_in_profile_aws(result, samples, links):
    assert "4.50 ms in us-east-1" in html(result("aws"), samples, links)


def test_it_reads_in_light_and_dark(page):
    assert "prefers-color-scheme: dark" in page


def test_what_comes_from_outside_is_escaped(result, samples, links):
    page = html(result("native") | {"commit": "<b>&"}, samples, links)
    assert "&lt;b&gt;&amp;" in page
