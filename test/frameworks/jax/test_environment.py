"""What `make test-frameworks` installs is what the tests here were written for."""

import jax


def test_jax_computes_on_the_processor():
    assert int(jax.numpy.arange(4).sum()) == 6
