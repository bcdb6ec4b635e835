"""Packs of rules: one YAML file each."""
