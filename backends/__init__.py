"""From `low` kernels to something that runs, one folder for each target."""
