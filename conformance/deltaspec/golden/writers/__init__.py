"""Golden cases for writers: histories as write specs of the Delta acceptance tests, with the expected tables."""
