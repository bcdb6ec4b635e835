"""One file a way of looking."""
