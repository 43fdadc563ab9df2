"""Whether anything is traced."""

ENTERED = [0]
"""How many traces are entered in all threads: while there are none nobody looks further."""
