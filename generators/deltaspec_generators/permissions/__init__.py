"""Permissions: sound tables that use what the protocol permits."""
