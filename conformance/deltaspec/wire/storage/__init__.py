"""Storage: local directories, object stores, Arrow file systems, bytes in memory."""
