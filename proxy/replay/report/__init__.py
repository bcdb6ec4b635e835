"""What a replay found, as tables, JSON and a page."""
