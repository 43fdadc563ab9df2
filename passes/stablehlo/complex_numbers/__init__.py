"""Complex numbers: their parts are values of their own, and functions of them are functions of parts."""
