"""Which axes of a result a kernel unrolls, so that an iteration makes several elements of it."""
