"""Rules over add, remove and cdc actions: single actions, the history of a path, and outdated live files."""
