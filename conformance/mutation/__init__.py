"""Mutation tests of the kit's own code."""
