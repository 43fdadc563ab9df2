"""Programs to take away: libraries, objects and sources that run without Python, and how they are loaded."""
