"""Arrays with an identity."""
