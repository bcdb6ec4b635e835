"""Repetition that the request asked for: sizes in its user's words, and text that is asked to stand again."""
