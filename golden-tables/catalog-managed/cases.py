"""Tables that a catalog manages or managed, with what the catalog knows."""

from deltaspec.golden.definition import Chapter
from deltaspec_generators.catalog_tables import CATALOG_TABLES

chapter = Chapter("catalog-managed")
ASKED, STAGED = "catalog-managed.catalog-asked-first", "log.staged-not-interpreted"
CASES = {
    "published-and-staged": ("The newest versions are staged.", ASKED),
    "nothing-published": ("All versions are staged.", ASKED),
    "all-published": ("All versions are published, and the catalog returns none of them.", ASKED),
    "published-and-inline": ("The catalog stores the content of the newest versions.", ASKED),
    "example-of-the-protocol": ("Published, staged and inline versions and losers, as in the protocol.", ASKED, STAGED),
    "losers-of-every-version": ("Every unpublished version has two staged commits; the catalog names one.", STAGED),
    "staged-after-latest": ("A complete staged commit of the next version is not ratified.", STAGED),
    "checkpoint-before-tail": ("A checkpoint replaces the first commits, and the newest are staged.", ASKED),
    "checkpoint-and-inline-tail": ("A checkpoint, the commit of its version, and an inline commit.", ASKED),
    "upgraded": ("A catalog manages the table since version 2.", ASKED),
    "downgraded": ("A catalog managed the table until version 2, and a staged commit remains.", STAGED),
}
for name, (title, *requires) in CASES.items():
    chapter.case(name, title, *requires, predicates=False)(CATALOG_TABLES[name])
