"""Show values to people: lines and tables as plain text, and as HTML in a notebook. Imports nothing heavy."""
