"""The attempts of one exchange, and what is waited for and decided between them."""
