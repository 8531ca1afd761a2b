"""Tables that the tests of rules read: small sound tables, faults planted in them, and uses of what is permitted.

The package is not installed. The installed kit shows generated data about it (`nox -s explain_data`).
"""
