"""Sections of the config that shape the service itself."""
