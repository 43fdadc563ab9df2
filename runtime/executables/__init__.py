"""From arrays to arrays."""
