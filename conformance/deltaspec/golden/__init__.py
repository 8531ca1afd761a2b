"""Golden tables: small Delta tables with known answers, for every client."""
