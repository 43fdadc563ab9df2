"""Arrays, dtypes, trees."""
