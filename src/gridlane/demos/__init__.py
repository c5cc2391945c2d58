"""Programs that show what gridlane does: ``python -m gridlane.demos`` lists them.

Each is a module of few lines over the public names, checks its own results against NumPy or a
closed form, and exits with 1 where they are wrong.
"""
