"""Submit studies that run in the background: a separate driver computes them, and `ckrr submit` returns.

`launch.py` submits a study, and `submission.py` stores what was submitted. `launchers.py` starts the driver: a process
of this machine (`process.py`), a Slurm job (`slurm.py`) or a task on a running scheduler (`task.py`). `drive.py` is the
driver, `logs.py` keeps its logs in the store, `locate.py` finds an active driver, and `cancel.py` ends it.
"""
