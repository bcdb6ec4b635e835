"""One file a wire protocol."""
