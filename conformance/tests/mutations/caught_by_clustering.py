"""Mutations of clustered tables."""

CAUGHT_BY: dict[str, str] = {
    "clustered_by_a_column_that_never_was": "DOM005",
    "clustered_by_displayed_names": "CLU002",
    "clustered_by_names_that_files_lack": "DOM005",
    "clustered_by_nobody": "CLU001",
    "clustered_by_a_column_that_older_files_pass_over": "CLU003",
    "clustering_columns_without_the_feature": "DOM011",
    "clustering_without_domains": "FEA004",
}
