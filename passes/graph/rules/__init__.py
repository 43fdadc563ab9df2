"""
Rewrite rules for `graph`. Each is a pattern whose docstring is its equation; `ROOTS` are the ops at which it
may match, so that `rewrite_greedily` tries it at no others.
"""
