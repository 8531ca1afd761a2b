"""What each level looks at beside the log, in order. Every step takes the run and enters what it finds."""

from collections.abc import Callable

from deltaspec.validate.data import DataRun
from deltaspec.views.base import Level

STEPS: tuple[tuple[Level, Callable[[DataRun], None]], ...] = ()
