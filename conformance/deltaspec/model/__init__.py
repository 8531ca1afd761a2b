"""The reference model: the protocol text made executable, one module a chapter.

Plain on purpose: no I/O, no clock, no Arrow, no caches. It is the oracle that the fast path is compared with.
"""
