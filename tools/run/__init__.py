"""The parts of `tenon-run`: its flags, what programs are given, and what it says of a run."""
