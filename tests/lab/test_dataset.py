import gzip
import hashlib
import json
import random

import pytest

from atoll.lab.dataset import LARGEST_BYTES, SMALLEST_BYTES, gzipped, make


@pytest.mark.parametrize("count", [1, 40, 200])
def test_all_files_are_gzip_json_of_the_published_sizes(count):
    files = make(count, seed=1)
    assert len({file.key for file in files}) == count
    assert all(SMALLEST_BYTES <= len(file.content) <= LARGEST_BYTES for file in files)
    assert all(json.loads(gzip.decompress(file.content))["marker"] for file in files)


def test_the_smallest_and_the_largest_size_occur():
    sizes = [len(file.content) for file in make(200, seed=1)]
    assert (min(sizes), max(sizes)) == (SMALLEST_BYTES, LARGEST_BYTES)


def test_the_same_seed_makes_the_same_files_and_another_one_others():
    assert make(20, seed=5) == make(20, seed=5)
    assert make(20, seed=5) != make(20, seed=6)


def test_the_sum_of_a_file_is_the_md5_of_its_bytes():
    file = make(1, seed=1)[0]
    assert file.md5 == hashlib.md5(file.content).hexdigest()


@pytest.mark.parametrize("size", range(SMALLEST_BYTES, LARGEST_BYTES + 1, 7))
def test_every_wanted_size_is_met_to_the_byte(size):
    content = gzipped("marker", size, random.Random(size))
    assert len(content) == size
    assert json.loads(gzip.decompress(content))["marker"] == "marker"
