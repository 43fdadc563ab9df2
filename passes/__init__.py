"""The passes, one file each, and what runs them."""
