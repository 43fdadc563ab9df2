"""`convert-stablehlo-to-graph`, a file for each family of ops."""
