"""The modules that are `tenon.numpy` and the like: `tenon/__init__.py` puts this folder on its path."""
