"""After a loop: one more call, whose answer goes on in the client's stream."""
