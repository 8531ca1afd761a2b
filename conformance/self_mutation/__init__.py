"""Self-mutation: plant faults in the kit's own code, and require that a test notices each."""
