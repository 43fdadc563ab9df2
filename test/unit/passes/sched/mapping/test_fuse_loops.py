"""What keeps a loop and the reduction over its results apart, and that it is told."""

from __future__ import annotations

from collections import Counter

import pytest
from tenon.dialects import context
from tenon.dialects.modules.parsing import parse_module
from tenon.passes.rewriting.rewrite_counts import counted_rewrites
from tenon.passes.sched.mapping.fuse_loops import FuseLoopsPass

KERNEL = """
sched.kernel @f(%x: memref<100xf32>, %y: memref<100xf32>) {
  %c0 = arith.constant 0 : index
  %row = sched.alloc local : memref<100xf32>
  sched.axis %j = 100 {
    %v = memref.load %x[%j] : memref<100xf32>
    memref.store %v, %row[%j] : memref<100xf32>
  }
  %s = sched.reduce addf %k = 100 : f32 {
    %e = memref.load %row[%k] : memref<100xf32>
    sched.yield %e : f32
  }
  memref.store %s, %y[%c0] : memref<100xf32>
}
"""

KEPT = "kept apart, as "

LOOP = "  sched.axis %m = 2 {\n  }\n"

CASES = {
    "a loop fused into the reduction that reads it": KERNEL,
    f"{KEPT}one of them holds a loop (no-loops)": KERNEL.replace(
        "    memref.store %v", f"{LOOP}    memref.store %v"
    ),
    f"{KEPT}the loop does not store at its own index (own-store)": KERNEL.replace("%row[%j]", "%row[%c0]"),
    f"{KEPT}they have different extents (extents)": KERNEL.replace("%k = 100", "%k = 50"),
    f"{KEPT}the reduction reads other elements than its own (own-element)": KERNEL.replace(
        "%row[%k]", "%row[%c0]"
    ),
    f"{KEPT}the reduction stores something itself (one-store)": KERNEL.replace(
        "    sched.yield", "    memref.store %e, %y[%k] : memref<100xf32>\n    sched.yield"
    ),
}


def counted(text: str) -> Counter[str]:
    counts: Counter[str] = Counter()
    with counted_rewrites(counts):
        FuseLoopsPass().apply(context(), parse_module(text))
    return counts


@pytest.mark.parametrize("decision", CASES)
def test_a_rule_says_what_it_decides(decision: str):
    assert counted(CASES[decision]) == {decision: 1}


def test_loops_that_have_nothing_to_do_with_one_another_are_not_told():
    assert not counted(KERNEL.replace("load %row", "load %x"))
