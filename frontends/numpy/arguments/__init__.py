"""What functions of arrays are called with, checked and made canonical: operands, axes, indices."""
