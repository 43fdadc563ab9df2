"""Steps of control flow, syncs, and calls of the host, in a few words."""

from __future__ import annotations

from ...backends.steps import (
    BranchStep,
    ControlStep,
    HostStep,
    JumpStep,
    LoopStep,
    NextStep,
    PlaceStep,
    SyncStep,
)


def control_text(step: ControlStep | SyncStep | HostStep) -> str:
    """Returns a step as people read it: `loop 10 times to step 7`."""
    match step:
        case LoopStep():
            order = ", last first" if step.reverse else ""
            return f"loop {step.count} times to step {step.end}{order}"
        case NextStep():
            return f"next iteration of step {step.begin}"
        case BranchStep():
            return f"unless {step.condition} go to step {step.target}"
        case JumpStep():
            return f"go to step {step.target}"
        case PlaceStep():
            return f"place {len(step.rows)} rows"
        case SyncStep():
            return "sync"
        case HostStep():
            return step.what
