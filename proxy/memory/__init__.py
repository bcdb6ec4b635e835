"""What is remembered between requests, in this process or in Redis."""
