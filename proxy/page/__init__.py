"""The page at /-/: what happens now and what happened last, as numbers and names."""
