"""What is asked of a whole module: parsing, entry, who conflicts with whom, a fixed form of its text."""
