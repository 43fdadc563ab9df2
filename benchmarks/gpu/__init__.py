"""Programs on a GPU, on arrays that stay there."""
