"""What all figures are drawn on: style, axes, panels, marks, labels and the data behind them."""
