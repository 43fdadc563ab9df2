"""
Writes digits.npz from the copy of the dataset that scikit-learn ships.

Only needed to make digits.npz again; scikit-learn is not needed to train or to run. The file holds `images`
uint8 (1797, 64) with pixels 0..16, `labels` uint8 (1797,), and `held_out` int64 (360,): the sorted indices of
the images that training never sees.
"""

from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

FOLDER = Path(__file__).parent
HELD_OUT_COUNT = 360
SPLIT_SEED = 1998


def main() -> None:
    pixels, labels = load_digits(return_X_y=True)
    permutation = np.random.default_rng(SPLIT_SEED).permutation(len(labels))
    np.savez_compressed(
        FOLDER / "digits.npz",
        images=pixels.astype(np.uint8),
        labels=labels.astype(np.uint8),
        held_out=np.sort(permutation[-HELD_OUT_COUNT:]),
    )


if __name__ == "__main__":
    main()
