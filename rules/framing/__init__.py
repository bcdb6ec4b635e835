"""From bytes to events and back."""
