"""The addresses of accesses: index algebra, its analysis, nests."""
