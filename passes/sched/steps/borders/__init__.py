"""Where pads, rolls and concatenations begin and end along an axis, and the pieces between."""
