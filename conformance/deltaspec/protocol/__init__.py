"""Facts of the protocol that every other package shares.

Names, records, data types, encodings of values, features and properties by revision, and the form that a single value
must have. Nothing here judges a change of a table: `deltaspec.model` does, and apart from it `deltaspec.views` with
`deltaspec.rules`.
"""
