"""One upstream call, and how its answer reaches the client."""
