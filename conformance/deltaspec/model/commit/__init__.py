"""Commits: may this commit follow this snapshot?"""
