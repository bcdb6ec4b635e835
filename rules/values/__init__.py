"""Plain values that pass between the folders of the engine; no decisions are made here."""
