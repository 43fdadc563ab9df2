"""What Python programs are written in: arrays that compute at once, arrays that are traced, and `jit`."""
