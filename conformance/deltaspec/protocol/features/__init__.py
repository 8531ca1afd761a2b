"""Table features and properties by revision."""
