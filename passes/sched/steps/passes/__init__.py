"""Each step of a schedule as a pass."""
