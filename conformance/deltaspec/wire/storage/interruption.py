"""Whether this process is about to end, so that requests are not retried. Its import takes no time."""

import threading

IS_ENDING = threading.Event()
"""Set by a handler of signals; pauses between attempts end then, in all threads."""
