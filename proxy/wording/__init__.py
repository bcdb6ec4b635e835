"""What people read about a request: what happened, and what to do."""
