"""Names that data gives stay in their folder, and digests are digests."""

from pathlib import Path

import pytest
from pydantic import TypeAdapter, ValidationError

from steeplechase.foundation.errors import CorruptionError, MachineError
from steeplechase.foundation.names import RelativeName, Sha256, inside, make_inside, refuse_links

DIGEST = "0123456789abcdef" * 4
HOSTILE = [
    "", ".", "..", "/", "/etc/passwd", "../x", "a/../x", "a/..", "./a", "a/./b", "a//b", "a/", "a\\b", "..\\x", "C:x",
    "c:/x", "a\0b", "a\nb", "a\x1b[2J", "\x85", "\ud800",
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_that_may_leave_its_folder_is_refused_where_it_is_parsed_and_where_it_is_joined(
    name: str, tmp_path: Path
) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(RelativeName).validate_python(name)
    for joined in (inside, make_inside):
        with pytest.raises(CorruptionError):
            joined(tmp_path, name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a", "part/labels.txt", "..a/b..", "...", "ä ö", ".hidden", "ab:c", "Cc:x"])
def test_other_names_are_kept(name: str, tmp_path: Path) -> None:
    assert TypeAdapter(RelativeName).validate_python(name) == name
    assert inside(tmp_path, name) == tmp_path / name


@pytest.mark.parametrize("digest", ["", DIGEST[1:], f"{DIGEST}0", DIGEST.upper(), f"{DIGEST}\n", f"../{DIGEST[3:]}"])
def test_a_digest_is_64_lowercase_hexadecimal_digits(digest: str) -> None:
    assert TypeAdapter(Sha256).validate_python(DIGEST) == DIGEST
    with pytest.raises(ValidationError, match="64 lowercase hexadecimal digits"):
        TypeAdapter(Sha256).validate_python(digest)


@pytest.mark.parametrize("name", ["folder/link", "folder/link/below", "folder/inner"])
def test_no_link_below_the_folder_is_followed(name: str, tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "folder").mkdir(parents=True)
    (root / "folder" / "link").symlink_to(tmp_path)
    (root / "folder" / "inner").symlink_to(root)
    (tmp_path / "alias").symlink_to(root)
    with pytest.raises(MachineError, match="a symbolic link is on this path"):
        inside(root, name)
    with pytest.raises(MachineError, match="a symbolic link is on this path"):
        refuse_links(root)
    assert inside(tmp_path / "alias", "folder") == tmp_path / "alias" / "folder"  # the folder itself may be a link
