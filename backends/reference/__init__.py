"""The interpreters: every level runs in numpy, as the oracle for everything else."""
