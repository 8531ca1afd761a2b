"""Table features, protocol versions and table properties."""
