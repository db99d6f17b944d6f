"""HTML elements, selectors without scripts, and the frame of a page."""
