"""What several passes share, one topic a file."""
