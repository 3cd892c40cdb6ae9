"""The container's files name what is there, run as nobody special, and say how to tell that they are well."""

from __future__ import annotations

import re

import pytest
import yaml

from htm_core.cli.commands import COMMANDS
from tests.cli.conftest import ROOT

DOCKERFILE = (ROOT / "Dockerfile").read_text()
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())


def test_everything_that_is_copied_exists_and_is_sent_to_the_builder() -> None:
    sources = [
        word
        for line in re.findall(r"^COPY (?!--from)(.*)$", DOCKERFILE, re.M)
        for word in line.split()[:-1]
    ]
    assert sources
    sent = set(re.findall(r"^!(\S+)$", (ROOT / ".dockerignore").read_text(), re.M))
    assert [each for each in sources if not (ROOT / each).exists() or each not in sent] == []


def test_nothing_runs_as_root_and_each_service_says_whether_it_is_well() -> None:
    last = DOCKERFILE.rpartition("\nFROM ")[2]
    [user] = re.findall(r"^USER (\d+)$", last, re.M)
    assert user != "0"
    assert f"--uid {user} " in last
    assert "HEALTHCHECK" in last
    for name, service in COMPOSE["services"].items():
        assert "healthcheck" in service, name
        assert service.get("restart"), name


def test_the_dockerfile_has_none_of_the_mistakes_that_a_linter_looks_for() -> None:
    """What hadolint calls DL3000, 3001, 3002, 3006, 3007, 3020, 3021, 3025, 3042, 4000, 4003, 4004 and 4006; `just image` runs itself."""
    assert faults(DOCKERFILE) == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("FROM python", "FROM python: no tag"), ("FROM python:latest", "FROM python:latest: no tag"),
        ("FROM a:1\nCOPY --from=build /x /x", "COPY --from=build: there is no such stage before"),
        ("FROM a:1\nWORKDIR app", "WORKDIR app: not from the root"), ("FROM a:1\nADD x x", "ADD: COPY copies"),
        ("FROM a:1\nRUN sudo x", "RUN sudo"), ("FROM a:1\nRUN pip install x", "pip install keeps what it has downloaded"),
        ("FROM a:1\nRUN a | b", "RUN with a pipe, whose failure nobody sees"),
        ("FROM a:1\nCMD htm serve", "CMD: not as a JSON list"), ("FROM a:1\nUSER root", "the last USER is root"),
        ("FROM a:1\nCMD [\"a\"]\nCMD [\"b\"]", "CMD more than once"), ("FROM a:1\nMAINTAINER me", "MAINTAINER is a LABEL"),
        ("FROM a:1\nENV DB_PASSWORD=x", "ENV: a secret"),
    ],
)  # fmt: skip
def test_each_mistake_is_found(text: str, fault: str) -> None:
    assert fault in faults(text)


def faults(dockerfile: str) -> list[str]:
    """Mistakes in a Dockerfile."""
    found: list[str] = []
    stages: list[str] = []
    last: list[tuple[str, str]] = []
    lines = re.sub(r"^#.*\n", "", dockerfile, flags=re.M).replace("\\\n", " ").splitlines()
    for word, _, rest in (line.partition(" ") for line in lines if line.strip()):
        rest = rest.strip()
        if word == "FROM":
            image, *name = rest.split(" AS ")
            if image not in stages and (":" not in image or image.endswith(":latest")):
                found.append(f"FROM {image}: no tag")
            stages += name
            last = []
        if (
            word == "COPY"
            and (source := re.match(r"--from=(\S+)", rest))
            and source[1] not in stages
        ):
            found.append(f"COPY --from={source[1]}: there is no such stage before")
        if word == "WORKDIR" and not rest.startswith("/"):
            found.append(f"WORKDIR {rest}: not from the root")
        if word == "ADD":
            found.append("ADD: COPY copies")
        if word == "MAINTAINER":
            found.append("MAINTAINER is a LABEL")
        if word in ("ENV", "ARG") and re.search(r"PASSWORD|SECRET|TOKEN|_KEY", rest):
            found.append(f"{word}: a secret")
        if word == "RUN":
            found += ["RUN sudo"] * ("sudo " in rest)
            if "pip install" in rest and "--no-cache-dir" not in rest:
                found.append("pip install keeps what it has downloaded")
            if re.search(r"[^|]\|[^|]", rest) and not any(
                "pipefail" in text for kind, text in last if kind == "SHELL"
            ):
                found.append("RUN with a pipe, whose failure nobody sees")
        if word in ("CMD", "ENTRYPOINT") and not rest.startswith("["):
            found.append(f"{word}: not as a JSON list")
        if word in ("CMD", "ENTRYPOINT", "HEALTHCHECK") and word in dict(last):
            found.append(f"{word} more than once")
        last.append((word, rest))
    if dict(last).get("USER") in ("root", "0"):
        found.append("the last USER is root")
    return found


def test_the_services_run_commands_that_exist_and_wait_for_what_they_need() -> None:
    services = COMPOSE["services"]
    for service in services.values():
        assert service.get("command", ["serve"])[0] in COMMANDS
        for other in service.get("depends_on", {}):
            assert other in services
    assert services["server"]["ports"] == ["127.0.0.1:8377:8377"]
    assert ":latest" not in DOCKERFILE + str(COMPOSE)
