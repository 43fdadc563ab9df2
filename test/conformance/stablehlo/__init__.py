"""openxla's programs of StableHLO with the results that they expect."""
