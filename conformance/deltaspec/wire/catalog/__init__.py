"""Clients of catalogs. What a catalog answers is not trusted: sizes, times, shapes, locations and hosts are checked."""
