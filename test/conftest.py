"""
Settings of hypothesis for all tests: no deadline, since a busy machine is no defect; and in continuous integration
the same examples each time, since what a new one finds is for whoever looks for it, not for an unrelated change.
"""

import os

from hypothesis import settings

settings.register_profile("tenon", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("tenon")
