"""Run a unit on a worker: load the study, compute (in a sandbox if asked to), write, and sign a receipt."""
