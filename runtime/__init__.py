"""Runs programs on devices: who holds which memory, and what an executable does when it is called."""
