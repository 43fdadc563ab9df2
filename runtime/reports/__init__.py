"""Memory, time and limits, for people."""
