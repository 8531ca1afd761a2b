"""Settings of property tests: few examples by default; `DELTASPEC_EXAMPLES=20 pytest ...` draws 20 times as many."""

import os

from hypothesis import HealthCheck, settings

EXAMPLES_FACTOR = int(os.environ.get("DELTASPEC_EXAMPLES", "1"))


def example_settings(examples: int) -> settings:
    """Return settings for a property test over complete logs: `examples` times the factor from the environment."""
    return settings(
        max_examples=examples * EXAMPLES_FACTOR,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    )
