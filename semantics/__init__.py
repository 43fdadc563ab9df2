"""What ops mean, in numpy."""
