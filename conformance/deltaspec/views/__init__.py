"""The relations that rules are written over. Each module documents one family of views and builds it."""
