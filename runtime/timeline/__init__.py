"""The timeline: all work, and when it ran."""
