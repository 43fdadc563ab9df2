"""Programs over devices: grids, what is split, what is exchanged."""
