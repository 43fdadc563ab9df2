"""Facts of the machine, and the shapes that follow from them."""
