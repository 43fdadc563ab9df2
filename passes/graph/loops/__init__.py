"""What loops carry, and what they change: hoisted, stored in place, or gone to and fro between."""
