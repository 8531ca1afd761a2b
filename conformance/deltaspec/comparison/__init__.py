"""Compare what engines read of a user's table with what the protocol says: `deltaspec compare`."""
