"""Units, and who starts them; their exit codes; users and folders."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tests.deploy.agreement.tree import Tree, differs

Unit = dict[str, list[str]]


def faults(tree: Tree) -> Iterator[str]:
    units = {path.name: _read(path.read_text(encoding="utf-8")) for path in _files(tree)}
    yield from differs("deploy/systemd", "units", sorted(units), sorted(tree.agreed.UNITS))
    for name, agreed in tree.agreed.UNITS.items():
        if name in units:
            yield from _unit(tree, name, units[name], agreed)
    yield from _started(tree, units)
    yield from _exit_codes(tree, units)
    yield from _users_and_folders(tree)
    yield from _images(tree)
    yield from _docs(tree)


def _files(tree: Tree) -> list[Any]:
    folder = tree.root / "deploy" / "systemd"
    return sorted([*folder.glob("*.service"), *folder.glob("*.timer")])


def _read(text: str) -> Unit:
    """Key -> its lines; the sections of our units have no key in common."""
    found: Unit = {}
    for line in text.splitlines():
        if "=" in line and not line.startswith("#"):
            key, _, words = line.partition("=")
            found.setdefault(key, []).append(words)
    return found


def _words(unit: Unit, key: str) -> list[str]:
    return " ".join(unit.get(key, [])).split()


def _unit(tree: Tree, name: str, unit: Unit, agreed: Any) -> Iterator[str]:
    where = f"deploy/systemd/{name}"
    timer = name.endswith(".timer")
    does = unit.get("Unit", [name.replace(".timer", ".service")]) if timer else unit.get("ExecStart", [])
    yield from differs(where, "ExecStart", does, list(agreed.does))
    user = [] if agreed.user in ("", "root") else [agreed.user]
    yield from differs(where, "User", unit.get("User", []), user)
    yield from differs(where, "EnvironmentFile", unit.get("EnvironmentFile", []), list(agreed.facts))
    yield from differs(where, "Restart", "".join(unit.get("Restart", [])), agreed.restart)
    yield from differs(where, "ExecStopPost", _then(unit), agreed.then)
    yield from differs(where, "OnFailure", unit.get("OnFailure", []), [])
    for key, codes in (("SuccessExitStatus", agreed.success), ("RestartPreventExitStatus", agreed.final)):
        yield from differs(where, key, _words(unit, key), list(map(str, codes)))
    for key, others in (("Before", agreed.before), ("After", agreed.after)):
        yield from differs(where, key, sorted(_words(unit, key)), sorted(others))
    target = "timers.target" if timer else "multi-user.target"
    # What boot.sh starts is started again at each boot; setup and warm are harmless to start, and wanted too.
    if agreed.started and _words(unit, "WantedBy") != [target]:
        yield f"{where}: WantedBy: {_words(unit, 'WantedBy')}: not started at a reboot, expected {target}"
    lines = [line for key in unit if key.startswith("Exec") for line in unit[key]]
    for script in re.findall(rf"{tree.agreed.SCRIPTS}/([\w.-]+)", " ".join(lines)):
        path = tree.root / "deploy" / "scripts" / script
        if not path.is_file() or not path.stat().st_mode & 0o111:
            yield f"{where}: {script}: no such program in deploy/scripts"
    for program in (line.split()[0].lstrip("-+!@:") for line in lines):
        if program not in ("/bin/sh", tree.agreed.GOUGI) and not program.startswith(tree.agreed.SCRIPTS + "/"):
            yield f"{where}: {program}: no program that is installed"


def _started(tree: Tree, units: dict[str, Unit]) -> Iterator[str]:
    """By boot.sh, or by another unit of the same machine."""
    boot, agreed = tree.scripts["boot.sh"], tree.agreed.UNITS
    begins = {
        "head": _listed(boot, r"head\)\s+units=\(([^)]*)\)"),
        "player": _listed(boot, r"units\+=\(([^)]*)\)"),
        "node": _listed(boot, r"node\)\s+units=\(([^)]*)\)"),
    }
    for machine in ("head", "node"):
        wanted = {name for name, unit in agreed.items() if machine in unit.machines and unit.started == "boot"}
        yield from differs("deploy/scripts/boot.sh", f"starts on a {machine}", sorted(begins[machine]), sorted(wanted))
        there = {name for name, unit in agreed.items() if machine in unit.machines}
        reached, left = set[str](), begins[machine] | (begins["player"] if machine == "head" else set())
        while left:
            reached |= left
            left = {other for name in left for other in _starts(name, units.get(name, {}))} - reached
        yield from differs("deploy/systemd", f"started on a {machine}", sorted(reached & agreed.keys()), sorted(there))
    player = {name for name, unit in agreed.items() if unit.started == "player"}
    yield from differs("deploy/scripts/boot.sh", "starts with a password", sorted(begins["player"]), sorted(player))
    if not re.search(r'^systemctl enable --now --no-block "\$\{units\[@\]\}"$', boot, re.MULTILINE):
        yield "deploy/scripts/boot.sh: the units are not enabled and started"


def _listed(text: str, pattern: str) -> set[str]:
    found = re.search(pattern, text)
    return set(found[1].split()) if found else set()


def _starts(name: str, unit: Unit) -> list[str]:
    timed = [name.replace(".timer", ".service")] if name.endswith(".timer") else []
    then = _then(unit)
    return [*_words(unit, "Wants"), *([then[2]] if then and then[1] == "start" else ()), *timed]


def _then(unit: Unit) -> tuple[int, str, str] | None:
    """The exit code after which something is done with another unit, what, and with which."""
    after = " ".join(unit.get("ExecStopPost", []))
    found = re.search(r'EXIT_STATUS" != (\d+) \] \|\| systemctl --no-block (start|stop) (\S+)\'', after)
    return (int(found[1]), found[2], found[3]) if found else None


def _exit_codes(tree: Tree, units: dict[str, Unit]) -> Iterator[str]:
    agreed = tree.agreed
    common = tree.constants("master/commands/common.py")
    for name in ("BAD_INPUT", "INTERRUPTED"):
        yield from differs("master/commands/common.py", name, common.get(name), getattr(agreed, name))
    services = tree.text("master/commands/fleet_services.py")
    for command, result in (("watch", "RELEASED if watcher.run("), ("keep", "RELEASED if why else 0")):
        if f"return {result}" not in services or "from master.cloud.agreed import RELEASED\n" not in services:
            yield f"master/commands/fleet_services.py: {command} does not end with the agreed exit code"
    for name, unit in agreed.UNITS.items():
        does = " ".join(unit.does)
        if (
            unit.restart == "always"
            and re.search(r"gougi fleet (keep|watch)", does)
            and agreed.RELEASED not in unit.final
        ):
            yield f"{name}: is started again after exit code {agreed.RELEASED}, and so never ends anything"
        if unit.then and unit.then[0] not in unit.final:
            yield f"{name}: is started again after exit code {unit.then[0]}"
        if does.endswith("/master.sh") and agreed.BAD_INPUT not in unit.final:
            yield f"{name}: is started again after exit code {agreed.BAD_INPUT}"


def _users_and_folders(tree: Tree) -> Iterator[str]:
    agreed, scripts = tree.agreed, tree.scripts
    boot = re.findall(r"useradd .* (\S+)$", scripts["boot.sh"], re.MULTILINE)
    yield from differs("deploy/scripts/boot.sh", "useradd", boot, [agreed.USER])
    owners = {owner for text in scripts.values() for owner in re.findall(r"\bchown (?:-R )?(\S+)", text)}
    yield from differs("deploy/scripts", "chown", owners, {f"{agreed.USER}:{agreed.USER}"})
    roots = {name for name, unit in agreed.UNITS.items() if unit.user == "root"}
    dropped = {path.parent.name.removesuffix(".d") for path in (tree.root / "deploy/systemd").glob("*.d/root.conf")}
    yield from differs("deploy/systemd", "root.conf", sorted(dropped), sorted(roots))
    made = dict[str, str]()
    for line in tree.text("deploy/systemd/gougi.tmpfiles.conf").splitlines():
        if line.startswith("d "):
            _, path, _, user, group = line.split()
            made[path] = f"{user}:{group}"
    yield from differs("gougi.tmpfiles.conf", "owners", set(made.values()), {f"{agreed.USER}:{agreed.USER}"})
    places = dict(re.findall(r"^(\w+)=(/\S+)$", scripts["lib.sh"], re.MULTILINE))
    yield from differs("deploy/scripts/lib.sh", "VENV", places.get("VENV", "") + "/bin/gougi", agreed.GOUGI)
    folders = {places.get("STATE", ""), places.get("RUN", "")}
    folders |= {
        f"{places.get('STATE')}/{name}"
        for name in re.findall(r"\$STATE/(nets|books|records|ray)\b", "".join(scripts.values()))
    }
    ray = dict(line.split("=", 1) for line in tree.text("deploy/systemd/ray.env").splitlines() if "=" in line)
    folders |= {ray.get("GOUGI_CACHE_DIR", ""), ray.get("GOUGI_RUN_DIR", "")}
    yield from (f"gougi.tmpfiles.conf: does not make {folder!r}" for folder in sorted(folders - made.keys()))
    token = ray.get("RAY_AUTH_TOKEN_PATH", "")
    if token not in [
        f"{places.get('RUN')}/{name}"
        for name in re.findall(r"^\s*keep (\S+)", scripts["fetch-secrets.sh"], re.MULTILINE)
    ]:
        yield f"deploy/systemd/ray.env: RAY_AUTH_TOKEN_PATH: {token}: fetch-secrets.sh puts no token there"
    if f'/deploy/systemd/ray.env" {agreed.RAY_ENV}' not in scripts["boot.sh"]:
        yield f"deploy/scripts/boot.sh: does not install {agreed.RAY_ENV}"
    for path in ("deploy/cloud-init/machine.yaml.tftpl", "deploy/scripts/lib.sh"):
        if agreed.FACTS not in tree.text(path):
            yield f"{path}: knows no {agreed.FACTS}"


def _images(tree: Tree) -> Iterator[str]:
    """Scripts and programs that the image names by their place."""
    where = "deploy/Dockerfile"
    named = set(re.findall(r"/opt/gougi/[\w./-]+\.sh", tree.text(where)))
    there = {f"{tree.agreed.SCRIPTS}/{name}" for name in tree.scripts}
    yield from (f"{where}: {script}: no such script" for script in sorted(named - there))
    if not named:
        yield f"{where}: names no script any more"
    venv = tree.agreed.GOUGI.removesuffix("/bin/gougi")
    built = re.findall(r"install\.sh /release (\S+)|COPY --from=build (\S+) (\S+)", tree.text("deploy/Dockerfile"))
    yield from differs(
        "deploy/Dockerfile", "the environment's place", {each for row in built for each in row if each}, {venv}
    )


def _docs(tree: Tree) -> Iterator[str]:
    """The table of units in docs/reference/aws.md, and the exit codes in it."""
    agreed = tree.agreed
    rows = dict[str, tuple[str, str]]()
    for name, machine, text in re.findall(
        r"^\| `(gougi-[\w.-]+)` \| (\w+) \| (.*) \|$", tree.text("docs/reference/aws.md"), re.MULTILINE
    ):
        rows[name if "." in name else f"{name}.service"] = (machine, text)
    words = {("head",): "head", ("node",): "workers", ("head", "node"): "both"}
    said = {name: machine for name, (machine, _) in rows.items()}
    wanted = {name: words[unit.machines] for name, unit in agreed.UNITS.items()}
    yield from differs("docs/reference/aws.md", "units", dict(sorted(said.items())), dict(sorted(wanted.items())))
    for name, code in (("gougi-keep.service", agreed.RELEASED), ("gougi-master.service", agreed.BAD_INPUT)):
        if f"exit code {code}" not in rows.get(name, ("", ""))[1]:
            yield f"docs/reference/aws.md: {name}: does not say what exit code {code} does"
    codes = set(
        re.findall(
            r"ends? with exit code (\d+), on which|machine go \(exit code (\d+)\)", tree.text("docs/how-to/aws.md")
        )
    )
    found = {code for pair in codes for code in pair if code}
    yield from differs("docs/how-to/aws.md", "exit code of keep and watch", found, {str(agreed.RELEASED)})
