"""Algorithms written in ops of `graph`, for passes and front ends alike."""
