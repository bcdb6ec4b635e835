"""The first door: what a request's history already shows, before the call."""
