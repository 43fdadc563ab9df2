"""The host program: what waits, what shares memory, what it costs."""
