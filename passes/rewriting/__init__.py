"""Greedy rewriting with locations, and the passes that work at any level."""
