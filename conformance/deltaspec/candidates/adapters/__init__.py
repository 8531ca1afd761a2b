"""Adapters: one module for each engine that the kit knows, with a class `Engine` as in `serve`.

An adapter calls the engine's public API as a user would, and returns what the engine returns. It works around nothing.
"""
