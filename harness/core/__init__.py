"""Types, errors, protocols, the schema of stored variables, seeds and text helpers shared by the whole harness.

The package imports nothing else of the project. Only `seeds` loads NumPy on import, so that commands such as
`ckrr status` start fast.
"""
