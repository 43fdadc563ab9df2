import gc

import pytest
from tenon.dialects.modules.collection_pause import collection_paused


def test_the_collector_is_off_inside_and_on_again_after():
    assert gc.isenabled()
    with collection_paused():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off():
    gc.disable()
    try:
        with collection_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_an_exception_ends_the_pause():
    with pytest.raises(KeyError), collection_paused():
        raise KeyError
    assert gc.isenabled()
