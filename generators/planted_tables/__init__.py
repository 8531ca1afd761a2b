"""Tables that the tests of rules read: small sound tables, faults planted in them, and uses of what is permitted.

The package is not installed. What the installed kit shows of it is generated data (`nox -s explain_data`).
"""
