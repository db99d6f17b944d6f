"""The report: one HTML file that says what was asked, what came out, how sure that is, and how it was made."""
