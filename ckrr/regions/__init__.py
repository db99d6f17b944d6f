"""From residuals to crossings to regions, for a block of test points."""
