"""How contractions run: register tiles, and the chunks of them that the caches hold."""
