"""`ckrr paper --report`: the paper's tables and figures beside what it says, and what is found with many paths.

`corrected` has the studies that its claims are judged on, `judging` the judgement, and the others the page.
"""
