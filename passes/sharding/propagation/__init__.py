"""From what is annotated to how every value is split."""
