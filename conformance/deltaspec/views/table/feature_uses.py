"""Uses of table features along the history, and the versions that leave a use without its feature."""

from collections.abc import Collection, Iterable

import msgspec

from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema.data_types import Struct
from deltaspec.views.table.schema_columns import select_special_columns
from deltaspec.views.table.used_features import (
    FeatureUse,
    find_abandoned_uses,
    find_domain_uses,
    find_property_uses,
    find_schema_uses,
    get_usable_features,
)

_NO_USES: frozenset[FeatureUse] = frozenset()


class UnsupportedUses(msgspec.Struct, frozen=True):
    """Uses of features that a version does not support, without those that the preceding version had already."""

    introduced: frozenset[FeatureUse] = _NO_USES
    """Uses by columns and properties that are new in the version: its metaData is the cause."""
    abandoned: frozenset[FeatureUse] = _NO_USES
    """Uses of the preceding version, which supported them if it is known: the protocol is the cause."""


class FeatureUseHistory(msgspec.Struct):
    """Uses of features by schema, properties and domains, updated version by version.

    A use that was illegal before and still is, is not reported again. A side that does not change is not read again.
    """

    revision: Revision = Revision.CURRENT
    _features: frozenset[str] | None = None
    """Supported features; None if unknown."""
    _schema: Struct | None = None
    _configuration: dict[str, str] | None = None
    _of_schema: frozenset[FeatureUse] = _NO_USES
    _of_properties: frozenset[FeatureUse] = _NO_USES

    def forget_protocol(self) -> None:
        """Record that the protocol is unknown."""
        self._features = None

    def forget_metadata(self) -> None:
        """Record that the metadata is unknown."""
        self._schema, self._configuration = None, None
        self._of_schema = self._of_properties = _NO_USES

    def apply(
        self,
        supported: Collection[str] | None,
        schema: Struct | None,
        configuration: dict[str, str] | None,
        kept_domains: Iterable[str],
    ) -> UnsupportedUses:
        """Apply the next version with a protocol or metaData action.

        Args:
            supported: features that the table supports; None if unknown.
            schema: table schema; None if unknown. The same object as before if it did not change.
            configuration: table properties; None if unknown.
            kept_domains: domains that are live before and after the version.
        """
        before, uses_before = self._features, self._of_schema | self._of_properties
        if schema is not self._schema:
            self._schema = schema
            self._of_schema = (
                _NO_USES if schema is None else find_schema_uses(select_special_columns(schema), self.revision)
            )
        if configuration is not self._configuration:
            self._configuration = configuration
            self._of_properties = find_property_uses(configuration or {}, self.revision)
        self._features = now = None if supported is None else get_usable_features(supported, self.revision)
        if supported is None or now is None:
            return UnsupportedUses()
        uses = self._of_schema | self._of_properties
        introduced = frozenset(use for use in uses - uses_before if use.feature not in now)
        if before == now:
            return UnsupportedUses(introduced)
        kept = (uses & uses_before) | find_domain_uses(kept_domains, self.revision)
        return UnsupportedUses(introduced, find_abandoned_uses(kept, before, supported, self.revision))
