"""Sections of the config that shape what happens to a request."""
