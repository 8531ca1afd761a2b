"""The conformance matrix: features × engines × suites, from the reports of `deltaspec test` and `deltaspec faults`."""
