"""When this process began to import Tenon: sources that are newer may not be what it runs."""

import time

IMPORT_TIME_NS = time.time_ns()
"""Nanoseconds of the epoch."""
