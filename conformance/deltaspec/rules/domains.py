"""Rules over domain metadata. Source: chapter Domain Metadata."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.table_state import domains


@rule("DOM001", requires="domain.needs-feature", view=domains)
def domain_without_feature() -> pl.Expr:
    """A domain was written although the protocol does not support domainMetadata.

    Writers of this table need not know domains and drop them.
    Fix: commit a protocol with minWriterVersion 7 that lists domainMetadata.

    Conforms::
        supported: true
    Violates::
        supported: false
    """
    return ~pl.col("supported")


@rule("DOM002", requires="domain.reserved-prefix", view=domains, divergence="S20")
def unknown_system_domain() -> pl.Expr:
    """A domain has a name of the reserved prefix `delta.` that neither the text nor a proposal defines.

    It may be that of a newer text, which clients pass over, or one that the writer made up: a later protocol may then
    give the name another meaning.
    Fix: use a name without the prefix.

    Conforms::
        known_system_domain: true
        known_system_domain: null
    Violates::
        known_system_domain: false
    """
    return ~pl.col("known_system_domain")


@rule("DOM003", requires=("domain.system-configuration", "domain.clustering-format"), view=domains)
def malformed_system_domain() -> pl.Expr:
    """The configuration of a domain that the text defines is not of the form it prescribes.

    Writers cannot go on from the state that it should hold: row ids are assigned twice, clustering is lost.
    Fix: commit the domain with a sound configuration.

    Conforms::
        configuration_fault: null
    Violates::
        configuration_fault: "holds no integer rowIdHighWaterMark"
    """
    return pl.col("configuration_fault").is_not_null()
