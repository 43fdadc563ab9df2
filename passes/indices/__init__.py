"""Where an access goes: index algebra, its analysis, nests."""
