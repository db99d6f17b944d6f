"""Compare procedures over several studies: one cell of each, ranks, and paired differences."""
