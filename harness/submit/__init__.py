"""Studies that are handed over: a driver of their own computes them, and whoever submitted them may leave.

`submission.py` says what was handed over, `submitting.py` hands it over (to a process of this machine, a Slurm job or
to a task on a running scheduler), `drive.py` is what the driver does, `cancelling.py` ends it.
"""
