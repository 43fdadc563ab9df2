"""The loops of a kernel as steps see them: by name, what depends on what, and code in between."""
