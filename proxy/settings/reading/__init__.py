"""Reads a file, the environment and pasted blocks into plain data, and reports mistakes so that they can be
corrected."""
