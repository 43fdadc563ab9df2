"""
What watches passes: printing, dumping, timing, counting, reproducing failures, checking semantics.

One instrument per file; `interface.py` says what an instrument is. Nothing is imported here, because checking
semantics needs numpy and printing does not.
"""
