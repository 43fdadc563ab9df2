"""What the tools' exit codes mean."""

SUCCESS = 0
DIAGNOSTICS = 1
"""The program, or a file, has an error that was printed."""
USAGE = 2
"""The command line has an error."""
INTERNAL = 70
"""Tenon, or an op or pass from outside, has a bug; a reproducer was written."""
INTERRUPTED = 130
BROKEN_PIPE = 141
"""Whoever read the output closed it; nothing is printed."""
