"""A room of the library has 4 to 20 files, its `__init__.py` counted: what one can take in at a look."""

from collections import Counter

from tenon.test.unit.library import ROOT, library_files

LEAST_FILES = 4

MOST_FILES = 20

WITH_FEWER = {
    "passes/sched": "rooms only",
}
"""Rooms with fewer files, and what they are."""

FILES = Counter(path.parent.relative_to(ROOT).as_posix() for path in library_files())


def test_no_room_has_more_files_than_can_be_taken_in():
    assert {room: count for room, count in FILES.items() if count > MOST_FILES} == {}


def test_rooms_with_few_files_are_listed_and_no_others():
    fewer = {room for room, count in FILES.items() if count < LEAST_FILES}
    assert fewer == WITH_FEWER.keys()
