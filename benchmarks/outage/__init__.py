"""The outage bench: a provider fails for a while, and agents meet it once directly and once through streamfuse.

The law that it measures: an agent with streamfuse in between ends at least as well as without it, with no more calls to
the provider. `python -m benchmarks.outage --help` tells how to run it.
"""
