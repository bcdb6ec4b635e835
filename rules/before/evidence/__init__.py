"""The evidence in the steps of a run: progress, waiting, states, and clocks or ids that only look like news."""
