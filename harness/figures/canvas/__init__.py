"""Building blocks shared by all figures: style, axes, panels, marks, labels and data access."""
