"""One timeline of all ranks: a kernel of each between what all begin before and after it."""

import json
import sys
from pathlib import Path

import numpy as np
import tenon
import tenon.numpy as tnp
from tenon.runtime.timeline.spans import Category

world = tenon.current_world()
mesh = tenon.Mesh((world.size,), ("x",))
x = tenon.shard(np.ones((8 * world.size, 4), np.float32), tenon.sharding(mesh, "x"))
program = tenon.jit(lambda a: tnp.sum(tnp.exp(a)))
program(x)
with tenon.record_timeline() as timeline:
    program(x)
found = tenon.gather_timeline(timeline)
groups = {span.track.process for span in found.spans}
assert groups == {f"rank {rank}" for rank in range(world.size)}, groups
assert len(found.spans) >= world.size * len({span.name for span in timeline.spans})
begins = {group: min(s.begin_ns for s in found.spans if s.track.process == group) for group in groups}
ends = {group: max(s.end_ns for s in found.spans if s.track.process == group) for group in groups}
# The sum needs all ranks: none ends before the last one begins, by one clock.
assert max(begins.values()) <= min(ends.values()), (begins, ends)
for group in groups:
    assert any(s.category is Category.KERNEL for s in found.spans if s.track.process == group), group
if world.rank == 0:
    path = Path(sys.argv[1], "ranks.json")
    found.save(path)
    events = json.loads(path.read_text())["traceEvents"]
    assert {event["pid"] for event in events} == set(range(2, 2 + world.size))
print("passed", flush=True)
