"""The shell: opens sockets, waits, and does what the engine says."""
