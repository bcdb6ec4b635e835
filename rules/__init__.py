"""The quiet engine: bytes, values and a clock reading go in; events, verdicts, bytes and decisions come out."""
