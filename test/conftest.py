"""
Settings of hypothesis for all tests: no deadline, since a busy machine is no defect; and in continuous
integration the same examples each time, since a new find there would hold up a change that it has nothing to
do with.
"""

import os

from hypothesis import settings

settings.register_profile("tenon", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("tenon")
