"""Errors that the API of the catalog answers with."""

from __future__ import annotations

import msgspec

_STATUSES = {
    "BadRequestException": 400,
    "InvalidParameterValueException": 400,
    "NotAuthorizedException": 401,
    "PermissionDeniedException": 403,
    "NotFoundException": 404,
    "NoSuchCatalogException": 404,
    "NoSuchSchemaException": 404,
    "NoSuchTableException": 404,
    "AlreadyExistsException": 409,
    "CommitVersionConflictException": 409,
    "UpdateRequirementConflictException": 409,
    "ResourceExhaustedException": 429,
    "CommitStateUnknownException": 500,
    "InternalServerErrorException": 500,
}


class ApiError(Exception):
    """An error of the API: a type of `DeltaErrorType`, and a message."""

    def __init__(self, kind: str, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.status = _STATUSES[kind] if status is None else status

    def encode(self) -> bytes:
        """Return the body of the answer, a `DeltaErrorResponse`."""
        return msgspec.json.encode({"error": {"message": str(self), "type": self.kind, "code": self.status}})
