"""In which direction a signal of `candidates` may count: what a reader would say of it before any is measured.

A signal of neither counts as it is learned; what speaks against a pair by itself (`apart_…`) never counts for it.
"""

from __future__ import annotations

from htm_core.rules.text.folding import words

FOR = words("""
    ends begins replaces gone pair pair_above pair_best cosine cosine_above cosine_best rank gone_best gone_cosine
    begins_best replaces_best rare rarest common common_above of_older in_change in_change_rare known known_gone
    gone_common own_newer matters matters_rare slots values values_differ values_differ_common values_gone first_both
    relative_same names_new
""")
AGAINST = words("""
    plain asks wishes supposes plans adds story keeps older_asks older_supposes older_plans older_story none_common
    nothing_new matters_apart values_equal values_lacking values_lacking_plain names_lacking names_lacking_plain
    foreign_owner foreign_relative relative_lost theirs older_theirs series
""")
