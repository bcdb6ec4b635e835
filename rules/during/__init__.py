"""The second door: one answer, from the upstream's bytes to the client's."""
