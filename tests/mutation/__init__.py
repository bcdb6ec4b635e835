"""Mutation testing: break one line at a time and see whether a test notices (`make mutate`)."""
