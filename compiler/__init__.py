"""From text, or a module, to an executable."""
