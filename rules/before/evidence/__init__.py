"""What the steps of a run show: progress, waiting, states, and clocks or ids that only look like news."""
