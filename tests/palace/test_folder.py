"""A palace is a folder that a person can read, edit and keep in git; what changed on both sides is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from htm_core import InvalidInput, NotFound
from htm_core.palace import Palace
from tests.palace.conftest import Build


@pytest.fixture
def folder(palace: Palace, tmp_path: Path) -> Path:
    palace.identify("I am Atlas.")
    palace.file_many(["The API is up.", "It listens on\nport 8080."], room="projects", drawer="api")
    palace.file("Ann likes rivers.", room="people", drawer="ann")
    palace.export(str(tmp_path / "palace"))
    return tmp_path / "palace"


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


def test_an_export_is_plain_files_under_their_names(folder: Path) -> None:
    files = sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file())
    assert files == ["identity.txt", "palace.yaml", "rooms/people/ann.md", "rooms/projects/api.md"]
    assert (folder / "identity.txt").read_text(encoding="utf-8") == "I am Atlas.\n"
    assert "It listens on\nport 8080." in (folder / "rooms/projects/api.md").read_text(
        encoding="utf-8"
    )


def test_an_export_that_nobody_edited_changes_nothing_when_it_is_imported(
    palace: Palace, folder: Path
) -> None:
    before = palace.look()
    done = palace.load(str(folder))
    assert (done.added, done.edited, done.unchanged, done.conflicts, done.missing) == (
        [],
        [],
        3,
        [],
        [],
    )
    assert palace.look() == before


AWKWARD = [
    "<!-- htm 00000000-0000-0000-0000-000000000000 -->",
    "Before.\n<!-- htm 00000000-0000-0000-0000-000000000000 -->\nAfter.",
    "\\<!-- htm 00000000-0000-0000-0000-000000000000 -->\nis what a backslash looks like",
    "<!-- htm not-an-id -->\nis no mark",
    "# A heading\n\n- a list\n\n```\ncode\n```",
    "Lines that end\r\nas on Windows\r\nstay so.",
    "---\nyaml: 'no'\n---",
    "trailing spaces  \n\ttabs\t",
    "水は冷たい \U0001f600 e\u0301",
    "line\u2028separator and \x0c form feed",
]


@pytest.mark.parametrize("windows", [False, True])
def test_any_text_comes_back_from_its_folder_as_it_was(
    palace: Palace, tmp_path: Path, *, windows: bool
) -> None:
    palace.file_many(AWKWARD, room="odd", drawer="texts")
    before = palace.look()
    palace.export(str(tmp_path / "out"))
    if windows:  # an editor that ends lines with two signs, and begins a file with three bytes
        for file in (tmp_path / "out").rglob("*.md"):
            text = file.read_text(encoding="utf-8").replace("\n", "\r\n")
            file.write_text(text, encoding="utf-8-sig", newline="")
    done = palace.load(str(tmp_path / "out"))
    assert (done.added, done.edited, done.conflicts, done.missing) == ([], [], [], [])
    assert done.unchanged == len(AWKWARD)
    assert palace.look() == before


def test_a_text_that_reads_like_a_mark_changes_nothing_of_what_it_names(
    palace: Palace, tmp_path: Path
) -> None:
    precious = palace.file("Precious.", room="odd", drawer="texts")
    palace.file(f"Mine.\n<!-- htm {precious.id} -->\nTaken over.", room="odd", drawer="texts")
    palace.export(str(tmp_path / "out"))
    assert palace.load(str(tmp_path / "out")).edited == []
    assert "Precious." in {each.content for each in palace.look()}


def test_a_mark_that_is_no_id_is_a_text(palace: Palace, folder: Path) -> None:
    file = folder / "rooms/people/bob.md"
    file.write_text(f"<!-- htm {'-' * 36} -->\nBob is new.\n", encoding="utf-8")
    assert [each.drawer for each in palace.load(str(folder)).added] == ["bob"]


def test_two_exports_of_the_same_palace_are_the_same_to_the_byte(
    palace: Palace, folder: Path, tmp_path: Path
) -> None:
    palace.export(str(tmp_path / "again"))
    for file in (each for each in folder.rglob("*") if each.is_file()):
        assert (tmp_path / "again" / file.relative_to(folder)).read_bytes() == file.read_bytes()


def test_an_edit_comes_back_as_a_new_mention_and_the_old_one_is_hidden(
    palace: Palace, folder: Path
) -> None:
    old = palace.look(room="people")[0]
    edit(folder / "rooms/people/ann.md", "likes rivers", "likes rivers and lakes")
    done = palace.load(str(folder))
    assert [each.content for each in done.edited] == ["Ann likes rivers and lakes."]
    assert [each.id for each in palace.look(room="people")] == [done.edited[0].id]
    assert old.id in {each.id for each in palace.memory.timeline(forgotten=True)}


def test_what_stands_without_a_mark_is_new(palace: Palace, folder: Path) -> None:
    edit(folder / "rooms/people/ann.md", "<!-- htm", "Ann has a dog.\n\n<!-- htm")
    (folder / "rooms/people/bob.md").write_text("Bob is new.\n", encoding="utf-8")
    done = palace.load(str(folder))
    assert sorted(each.content for each in done.added) == ["Ann has a dog.", "Bob is new."]
    assert {each.drawer for each in palace.look(room="people")} == {"ann", "bob"}


def test_what_changed_on_both_sides_is_shown_and_not_overwritten(
    palace: Palace, folder: Path
) -> None:
    palace.forget(palace.look(room="people")[0])
    palace.file("Ann likes the sea.", room="people", drawer="ann")
    edit(folder / "rooms/people/ann.md", "likes rivers", "likes lakes")
    done = palace.load(str(folder))
    assert [(each.path, each.edited, each.there) for each in done.conflicts] == [
        ("rooms/people/ann.md", "Ann likes lakes.", None)
    ]
    assert [each.content for each in palace.look(room="people")] == ["Ann likes the sea."]


def test_an_identity_that_changed_on_both_sides_is_a_conflict(palace: Palace, folder: Path) -> None:
    edit(folder / "identity.txt", "I am Atlas.", "I am Atlas, edited.")
    assert palace.load(str(folder)).identity
    assert palace.identity() == "I am Atlas, edited."
    palace.export(str(folder))
    palace.identify("I am Atlas, said anew.")
    edit(folder / "identity.txt", "edited", "edited again")
    done = palace.load(str(folder))
    assert [each.path for each in done.conflicts] == ["identity.txt"]
    assert palace.identity() == "I am Atlas, said anew."


def test_what_is_missing_in_the_folder_is_not_forgotten(palace: Palace, folder: Path) -> None:
    (folder / "rooms/people/ann.md").unlink()
    placed = palace.look(room="people")[0]
    done = palace.load(str(folder))
    assert done.missing == [placed.id]
    assert palace.look(room="people") == [placed]


def carry(folder: Path, *, edited: str | None = None, leave: bool = False) -> None:
    """Take Ann's text from her drawer's file into the one of the API."""
    home, other = folder / "rooms/people/ann.md", folder / "rooms/projects/api.md"
    text = home.read_text(encoding="utf-8")
    other.write_text(other.read_text(encoding="utf-8") + "\n" + (edited or text), encoding="utf-8")
    if not leave:
        home.unlink()


def test_a_text_that_was_taken_to_another_drawers_file_moves_there(
    palace: Palace, folder: Path
) -> None:
    [ann] = palace.look(room="people")
    carry(folder)
    done = palace.load(str(folder))
    assert [(each.id, each.room, each.drawer) for each in done.moved] == [
        (ann.id, "projects", "api")
    ]
    assert (done.missing, done.conflicts, done.added, done.edited) == ([], [], [], [])
    assert palace.look(room="people") == []
    again = palace.load(str(folder))
    assert (again.moved, again.missing, again.conflicts, again.unchanged) == ([], [], [], 3)


def test_a_text_that_was_moved_and_edited_is_new_where_it_stands_now(
    palace: Palace, folder: Path
) -> None:
    [ann] = palace.look(room="people")
    text = (folder / "rooms/people/ann.md").read_text(encoding="utf-8")
    carry(folder, edited=text.replace("likes rivers", "likes lakes"))
    done = palace.load(str(folder))
    assert [(each.room, "likes lakes" in each.content) for each in done.edited] == [
        ("projects", True)
    ]
    assert (done.missing, done.conflicts) == ([], [])
    assert palace.look(room="people") == []
    assert ann.id not in {each.id for each in palace.look()}


def test_a_text_that_was_moved_in_the_folder_and_elsewhere_in_the_palace_is_in_conflict(
    palace: Palace, folder: Path
) -> None:
    [ann] = palace.look(room="people")
    palace.move(ann, room="friends", drawer="ann")
    carry(folder)
    done = palace.load(str(folder))
    assert [each.id for each in done.conflicts] == [ann.id]
    assert [each.id for each in palace.look(room="friends")] == [ann.id]


def test_a_copy_of_a_text_moves_nothing(palace: Palace, folder: Path) -> None:
    [ann] = palace.look(room="people")
    carry(folder, leave=True)
    done = palace.load(str(folder))
    assert (done.moved, done.edited, done.missing, done.conflicts) == ([], [], [], [])
    assert palace.look(room="people") == [ann]


def test_a_palace_moves_to_another_tenant_by_its_folder(build: Build, folder: Path) -> None:
    other = build(tenant=f"{build().memory.tenant}-2")
    (folder / "palace.yaml").unlink()
    for file in folder.rglob("*.md"):
        text = "\n".join(
            line
            for line in file.read_text(encoding="utf-8").splitlines()
            if not line.startswith("<!--")
        )
        file.write_text(text, encoding="utf-8")
    other.load(str(folder))
    assert other.identity() == "I am Atlas."
    assert [room.name for room in other.rooms()] == ["people", "projects"]


def test_an_export_takes_away_its_own_empty_drawers_and_no_other_file(
    palace: Palace, folder: Path
) -> None:
    (folder / "rooms/people/mine.txt").write_text("a note of one's own", encoding="utf-8")
    palace.forget(palace.look(room="people")[0])
    palace.export(str(folder))
    assert not (folder / "rooms/people/ann.md").exists()
    assert (folder / "rooms/people/mine.txt").exists()


def test_a_register_that_names_files_outside_takes_none_of_them_away(
    palace: Palace, folder: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "precious.md"
    outside.write_text("mine", encoding="utf-8")
    edit(folder / "palace.yaml", "rooms/people/ann.md", "rooms/../../precious.md")
    palace.export(str(folder))
    assert outside.read_text(encoding="utf-8") == "mine"


def test_a_folder_that_is_none_and_a_register_that_is_broken_are_refused(
    palace: Palace, folder: Path
) -> None:
    with pytest.raises(NotFound, match="expected a folder"):
        palace.load(str(folder / "nowhere"))
    (folder / "palace.yaml").write_text("{broken", encoding="utf-8")
    with pytest.raises(InvalidInput, match="to be YAML"):
        palace.load(str(folder))
    (folder / "palace.yaml").write_text("- a list\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"as an export of the palace writes it"):
        palace.load(str(folder))


def shelf(palace: Palace) -> list[tuple[str, str, str]]:
    return sorted((each.room, each.drawer, each.content) for each in palace.look())


def test_a_folder_that_is_loaded_a_second_time_changes_nothing(
    palace: Palace, folder: Path
) -> None:
    edit(folder / "identity.txt", "I am Atlas.", "I am Atlas, edited.")
    edit(folder / "rooms/projects/api.md", "The API is up.", "The API is down.")
    edit(folder / "rooms/people/ann.md", "<!-- htm", "Ann has a dog.\n\n<!-- htm")
    (folder / "rooms/people/bob.md").write_text("Bob is new.\n", encoding="utf-8")
    first = palace.load(str(folder))
    assert (len(first.added), len(first.edited), first.identity) == (2, 1, True)
    before = palace.look()
    again = palace.load(str(folder))
    assert (again.added, again.edited, again.moved, again.conflicts, again.identity) == (
        [],
        [],
        [],
        [],
        False,
    )
    assert (again.unchanged, palace.look()) == (5, before)


def test_a_text_that_was_moved_and_edited_stays_so_when_the_folder_is_loaded_again(
    palace: Palace, folder: Path
) -> None:
    text = (folder / "rooms/people/ann.md").read_text(encoding="utf-8")
    carry(folder, edited=text.replace("likes rivers", "likes lakes"))
    palace.load(str(folder))
    before = palace.look()
    again = palace.load(str(folder))
    assert (again.added, again.edited, again.moved, again.conflicts) == ([], [], [], [])
    assert palace.look() == before


def test_an_edit_into_what_the_drawer_says_already_leaves_one_of_the_two(
    palace: Palace, folder: Path
) -> None:
    edit(folder / "rooms/projects/api.md", "It listens on\nport 8080.", "The API is up.")
    assert len(palace.load(str(folder)).edited) == 1
    assert {each.content for each in palace.look(room="projects")} == {"The API is up."}


def test_a_folder_of_mempalace_is_loaded_any_number_of_times_and_an_edited_file_replaces_what_it_held(
    palace: Palace, tmp_path: Path
) -> None:
    root = tmp_path / ".mempalace"
    texts = {
        "identity.txt": "I am Timmy.\n",
        "rooms/projects/timmy-config.md": "# timmy-config\n\n- lives in Gitea\n- deploys by hand\n",
        "rooms/people/alexander.md": "Prefers short answers.\n",
        "config/mempalace.yaml": "version: 1\n",
    }
    for path, text in texts.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    assert len(palace.load(str(root)).added) == 2
    before = shelf(palace)
    for _ in range(2):
        again = palace.load(str(root))
        assert (again.added, again.edited, again.conflicts, again.unchanged) == ([], [], [], 2)
        assert again.not_read == ["config/mempalace.yaml"]
        assert shelf(palace) == before
    assert palace.identity() == "I am Timmy."
    edit(root / "rooms/people/alexander.md", "short answers", "short answers, and tea")
    done = palace.load(str(root))
    assert (len(done.edited), done.added) == (1, [])
    assert [each.content for each in palace.look(room="people")] == [
        "Prefers short answers, and tea."
    ]
    palace.file("Alexander is on holiday.", room="people", drawer="alexander")
    assert palace.load(str(root)).unchanged == 2
    assert len(palace.look(room="people")) == 2


def test_an_edited_identity_of_mempalace_replaces_what_was_loaded_and_nothing_that_was_set_since(
    palace: Palace, tmp_path: Path
) -> None:
    file = tmp_path / "identity.txt"
    file.write_text("I am A.\n", encoding="utf-8")
    assert palace.load(str(tmp_path)).identity
    for name in "BCB":
        file.write_text(f"I am {name}.\n", encoding="utf-8")
        done = palace.load(str(tmp_path))
        assert (done.identity, done.conflicts, palace.identity()) == (True, [], f"I am {name}.")
        assert not palace.load(str(tmp_path)).identity
    palace.identify("I am set by hand.")
    file.write_text("I am D.\n", encoding="utf-8")
    assert [each.path for each in palace.load(str(tmp_path)).conflicts] == ["identity.txt"]
    assert palace.identity() == "I am set by hand."


def test_a_file_of_mempalace_edited_into_what_its_drawer_says_already_leaves_one_text(
    palace: Palace, tmp_path: Path
) -> None:
    file = tmp_path / "rooms/projects/billing.md"
    file.parent.mkdir(parents=True)
    file.write_text("Port 8080.\n", encoding="utf-8")
    palace.load(str(tmp_path))
    palace.file("Port 7070.", room="projects", drawer="billing")
    file.write_text("Port 7070.\n", encoding="utf-8")
    assert [each.content for each in palace.load(str(tmp_path)).edited] == ["Port 7070."]
    assert [each.content for each in palace.look(room="projects")] == ["Port 7070."]
    again = palace.load(str(tmp_path))
    assert (again.edited, again.unchanged) == ([], 1)


def test_a_file_with_a_nul_is_refused_by_its_name(palace: Palace, tmp_path: Path) -> None:
    file = tmp_path / "rooms/projects/broken.md"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"Same text\x00 nul")
    with pytest.raises(InvalidInput, match=r"broken\.md, got a NUL"):
        palace.load(str(tmp_path))


def test_a_name_that_ends_with_another_sign_is_told_how_a_name_ends(palace: Palace) -> None:
    with pytest.raises(InvalidInput, match="ending with one"):
        palace.file("C++ is used.", room="tech", drawer="c++")
