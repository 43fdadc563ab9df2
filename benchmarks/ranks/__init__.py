"""Several ranks: what messages cost here, and what programs of many ranks send."""
