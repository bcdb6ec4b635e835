"""From a file, the environment and pasted blocks to plain data, and mistakes said so that they can be mended."""
