"""Mutations of variant columns."""

CAUGHT_BY: dict[str, str] = {
    "variant_without_its_feature": "SCH001",
    "partitions_by_a_variant": "VAR001",
    "clusters_by_a_variant": "VAR002",
    "generates_a_variant": "VAR003",
    "variant_defaults_to_a_value": "VAR004",
    "variant_bounded_without_shredding": "STA014",
    "variant_of_other_bytes": "VAR005",
    "shredded_variant_of_other_bytes": "VAR005",
    "variant_part_in_both_places": "VAR006",
    "typed_value_of_no_form": "PQT013",
    "shredded_where_only_variants_are_supported": "PQT014",
    "shredded_with_another_feature": "PQT014",
    "shredded_before_the_upgrade": "PQT014",
    "shredding_enabled_without_its_feature": "CFG004",
    "shredded_while_not_enabled": "VAR007",
    "shredded_while_the_property_is_false": "VAR007",
}
