"""What a rank computes of each op."""
