"""Programs of torch: a backend of `torch.compile`, and exported programs."""
