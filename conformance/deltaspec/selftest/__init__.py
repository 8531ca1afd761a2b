"""The self-test: engines with one fault each, made from the reference, that the suites must catch."""
