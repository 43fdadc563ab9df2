"""Ranks that run a program together: the worlds in which their collectives meet."""
