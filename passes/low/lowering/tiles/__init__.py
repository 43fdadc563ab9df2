"""Register tiles: where sums are added up, and what follows them."""
