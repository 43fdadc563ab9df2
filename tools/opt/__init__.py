"""The parts of `tenon-opt`: its flags, what watches for them, what it says about itself."""
