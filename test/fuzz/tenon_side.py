"""What programs call, in Tenon."""

from __future__ import annotations

from typing import Any

import tenon
import tenon.nn
import tenon.numpy
import tenon.random


class TenonSide:
    """What a program is given as `t`: `t.np`, `t.nn`, `t.random`, and loops and branches."""

    np: Any = tenon.numpy
    nn: Any = tenon.nn
    random: Any = tenon.random
    cond = staticmethod(tenon.cond)
    switch = staticmethod(tenon.switch)
    while_loop = staticmethod(tenon.while_loop)
    fori_loop = staticmethod(tenon.fori_loop)
    scan = staticmethod(tenon.scan)
