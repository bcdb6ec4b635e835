"""Deciding that an answer loops: rules, their monitors, and packs of both."""
