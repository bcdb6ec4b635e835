"""Fit the odds of `rules/detect/odds.py` from labelled texts (`make fit`)."""
