"""Constants that updates store over are apart from those that are only read."""

from typing import Any

import numpy as np
import tenon
import tenon.numpy as tnp


def test_a_constant_that_is_stored_over_is_not_loaded_elsewhere() -> None:
    def work(places: Any) -> Any:
        zeros = tnp.zeros((64,), dtype=tnp.int64)
        return zeros.at[places].add(1), tnp.where(places > zeros, places + zeros, places * 3)

    places = np.random.default_rng(0).integers(-64, 64, 64)
    counts, others = (np.asarray(each) for each in tenon.jit(work)(places))
    np.testing.assert_array_equal(counts, np.bincount(places % 64, minlength=64))
    np.testing.assert_array_equal(others, np.where(places > 0, places, places * 3))
    module = tenon.jit(work).lower(places)
    kernels = module.text("sched").split("sched.kernel ")[1:]
    elementwise = [kernel for kernel in kernels if "muli" in kernel]
    assert [kernel.count("memref.load") for kernel in elementwise] == [1]
