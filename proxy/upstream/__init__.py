"""One call to a provider."""
