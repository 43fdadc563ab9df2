"""What runs as vectors, tiles, threads and work-groups."""
