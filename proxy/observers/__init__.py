"""One file a sink of reports."""
