"""Arrays that are spread over the ranks of a mesh."""
