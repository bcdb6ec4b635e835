"""What an upstream's failure means."""
