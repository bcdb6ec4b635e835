"""What OpenTelemetry gets: spans and histograms as plain numbers, made into its form by the threads that export."""
