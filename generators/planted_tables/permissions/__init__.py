"""Permissions: valid tables that use something that the protocol permits."""
