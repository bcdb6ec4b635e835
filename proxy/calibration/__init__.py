"""A config held against one's own healthy sessions."""
