"""Temporary credentials for the storage of tables."""

from __future__ import annotations

import time
from typing import Any

import msgspec

_LIFETIME_MS = 3_600_000


class StorageAccess(msgspec.Struct, frozen=True):
    """Credentials of a local S3 that the catalog vends. Tables on the disk need none."""

    access_key_id: str | None = None
    secret_access_key: str = ""
    session_token: str = ""
    lifetime_ms: int = _LIFETIME_MS

    def vend(self, location: str, operation: str) -> list[dict[str, Any]]:
        """Return credentials for a location (`DeltaStorageCredential`)."""
        if self.access_key_id is None or not location.startswith("s3"):
            return []
        config = {"s3.access-key-id": self.access_key_id, "s3.secret-access-key": self.secret_access_key}
        if self.session_token:
            config["s3.session-token"] = self.session_token
        return [
            {
                "prefix": f"{location}/",
                "operation": operation,
                "expiration-time-ms": time.time_ns() // 1_000_000 + self.lifetime_ms,
                "config": config,
            }
        ]
