"""What people may write in the config: one noun a file, frozen pydantic models, unknown keys are errors."""
