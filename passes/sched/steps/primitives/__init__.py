"""The primitives of schedules: one file for each step, which checks it and does it."""
