"""The container's files name what is there, run as nobody special, and say how to tell that they are well."""

from __future__ import annotations

import re

import yaml

from htm_core.cli.commands import COMMANDS
from tests.cli.conftest import ROOT

DOCKERFILE = (ROOT / "Dockerfile").read_text()
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())


def test_everything_that_is_copied_exists_and_is_sent_to_the_builder() -> None:
    sources = [word for line in re.findall(r"^COPY (?!--from)(.*)$", DOCKERFILE, re.M) for word in line.split()[:-1]]
    assert sources
    sent = set(re.findall(r"^!(\S+)$", (ROOT / ".dockerignore").read_text(), re.M))
    assert [each for each in sources if not (ROOT / each).exists() or each not in sent] == []


def test_nothing_runs_as_root_and_each_service_says_whether_it_is_well() -> None:
    last = DOCKERFILE.rpartition("\nFROM ")[2]
    assert re.search(r"^USER htm$", last, re.M)
    assert "HEALTHCHECK" in last
    for name, service in COMPOSE["services"].items():
        assert "healthcheck" in service, name
        assert service.get("restart"), name


def test_the_services_run_commands_that_exist_and_wait_for_what_they_need() -> None:
    services = COMPOSE["services"]
    for service in services.values():
        assert service.get("command", ["serve"])[0] in COMMANDS
        for other in service.get("depends_on", {}):
            assert other in services
    assert services["server"]["ports"] == ["127.0.0.1:8377:8377"]
    assert ":latest" not in DOCKERFILE + str(COMPOSE)
