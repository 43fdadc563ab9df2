"""What ops compute of numbers that is more than a few ops of `graph`: functions, bits, narrow integers."""
