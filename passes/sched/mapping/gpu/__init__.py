"""Work-groups, and what their items share."""
