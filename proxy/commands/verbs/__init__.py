"""One file a command: its options, its help and its examples. What it does stands elsewhere, loaded when it runs."""
