"""From `graph` to `graph`."""
