"""Write the report of a study: one HTML file with verdicts, numbers, figures, design and provenance."""
