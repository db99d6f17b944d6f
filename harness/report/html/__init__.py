"""HTML elements, choices and the frame of a page."""
