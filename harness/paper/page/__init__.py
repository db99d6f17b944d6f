"""Write `ckrr paper --report`: the paper's tables, figures and claims beside our results.

`corrected` defines the studies on which its claims are judged, `judging` judges them, and the others render the page.
"""
