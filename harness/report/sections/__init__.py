"""The sections of the report, and the parts that they share."""
