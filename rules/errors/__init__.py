"""Reads upstream failures: their class, their message, and the wait that they name."""
