"""The most that is accepted of each thing, in one place. `docs/limits.md` is the table of these for
users.

They are far above what is useful, and low enough that no call can hold a transaction, a process or
a model for long. Two more are settings, since installations differ: `Settings.max_content` and
`Settings.max_drafts`.
"""

from __future__ import annotations

# Names: of tenants, users, sessions, robots, speakers and groups; keys; the caller's ids of
# mentions.
NAME_LENGTH = 255

TAG_LENGTH = 255  # characters, with all its levels
TAG_LEVELS = 8
MODEL_TAG_LEVELS = 4  # of a tag that a model wrote
TAGS_PER_MEMORY = 1_000  # given ones; the ancestors that they imply do not count
TAGS_PER_CALL = 1_000_000  # of all drafts together

METADATA_LEVELS = 64
METADATA_VALUES = 100_000  # of one mapping, nested ones included
METADATA_BYTES = 4 << 20  # as JSON in UTF-8
INTEGER_DIGITS = 1_000
VALUE_VALUES = 1_000_000  # of a collection item's value
VALUE_BYTES = 64 << 20

PAYLOAD_BYTES = 64 << 20
CALL_BYTES = 256 << 20  # contents, metadata and payloads of one call together
DIMENSIONS = 16_000  # of a vector

QUERY_LENGTH = 8_000  # characters; what is beyond them is left out, since no model sees it
RESULTS = 1_000  # hits, nodes, mentions, tags or jobs of one answer
RANKED = 10_000  # limit + offset of a search in a collection
TIMEFRAME_LENGTH = 200  # characters
TIMEFRAMES = 1_000  # in one list
ROBOTS_PER_QUERY = 1_000

WHERE_LEVELS = 64
# a condition on a dotted key counts twice, since it is looked for in two places
WHERE_CONDITIONS = 4_000
WHERE_PATH_LENGTH = 100_000  # characters of the whole filter as a JSON path
WHERE_BYTES = 4 << 20  # of all its values, as JSON
SUBSTRING_LENGTH = 10_000  # characters of $contains
SUBSTRING_ANY_CASE_LENGTH = 2_000  # characters of $icontains
LIKE_LENGTH = 1_000  # characters of $like and $ilike
LIKE_WILDCARDS = 50  # PostgreSQL takes seconds over a pattern of nothing but hundreds of wildcards

IDS_PER_CALL = 100_000  # of items, references, jobs or messages
ITEM_ID_LENGTH = 10_000  # characters of a collection item's id
NAMESPACE_BYTES = 1_500  # of a collection item's labels; an index entry has no more room

FILE_BYTES = 32 << 20
FILE_PAGES = 2_000  # of a PDF that is loaded
ATTACHED_PAGES = 200  # of a PDF that is attached to a message; the rest is not searched
ATTACHED_LENGTH = 300_000  # characters of all files of one message; the rest is not searched
ARCHIVE_FILES = 1_000  # that are read from one archive
ARCHIVE_BYTES = 16 << 30  # of them all, unpacked
# unpacked to packed, of a file of more than ARCHIVE_SMALL bytes; conversations have about 5 to 20
ARCHIVE_RATIO = 200
ARCHIVE_SMALL = 64 << 20
YAML_VALUES = 10_000  # of a front matter, with every alias counted as what it stands for
YAML_LEVELS = 64
YAML_LENGTH = 200_000  # characters of a front matter
MARKDOWN_LINES = 200_000  # a file of more is cut as a text without structure
FILES_PER_LOAD = 100_000
FOLDER_LEVELS = 64
PATTERN_LENGTH = 1_000  # characters of load(pattern=)
PATTERN_PARTS = 64  # of load(pattern=), separated by "/"
REGISTER_LENGTH = 16 << 20  # characters of a palace.yaml
REGISTER_VALUES = 500_000
