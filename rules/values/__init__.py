"""What flows between the rooms of the engine: plain values, no decisions."""
