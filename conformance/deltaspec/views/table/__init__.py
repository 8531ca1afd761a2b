"""Views of the table state: protocol, metadata, schema, features, domains."""
