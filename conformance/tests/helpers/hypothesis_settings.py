"""How many examples property tests draw: a handful on every run, more where `DELTASPEC_EXAMPLES` asks for it.

`DELTASPEC_EXAMPLES=20 pytest ...` draws twenty times as many.
"""

import os

from hypothesis import HealthCheck, settings

EXAMPLES_FACTOR = int(os.environ.get("DELTASPEC_EXAMPLES", "1"))


def example_settings(examples: int) -> settings:
    """Settings of a property test over whole logs: so many examples, times the factor of the environment."""
    return settings(
        max_examples=examples * EXAMPLES_FACTOR,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    )
