"""AgentDojo's ground-truth runs through Gate: what an injected instruction that nobody recognised still gets done.

    python3 bench/agentdojo/replay.py            # writes bench/results/<day>-agentdojo.{json,md}

No model is asked. An agent does what the ground truth of its task says. Behind the first answer that holds the goal of an injection it does
what the ground truth of that injection says, and then goes on: an agent that obeys everything. Every call goes through Gate lite, which
sends it to AgentDojo's own tools. A call that waits for a person does not run. Needs a built Gate (`npm run build`) and Python 3.10 or later;
the packages go into a virtual environment in the cache folder (GATE_CACHE_DIR). The order of runs is fixed and nothing is drawn by chance.
"""

import argparse
import datetime
import importlib.abc
import importlib.machinery
import json
import os
import pickle
import platform
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import types
import uuid
import venv
import warnings
from collections import defaultdict
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = [
    "pydantic[email]==2.11.7",
    "deepdiff==8.6.1",
    "docstring-parser==0.17.0",
    "pyyaml==6.0.2",
    "tenacity==9.1.2",
    "typing-extensions==4.14.1",
]
AGENTDOJO = "agentdojo==0.1.35"
BENCHMARK = "v1.2.2"
SUITES = ["workspace", "travel", "banking", "slack"]

# What an operator of these tools would say: directories and accounts that nobody outside can write to.
TRUSTED_TOOLS = [
    "search_contacts_by_name",
    "search_contacts_by_email",
    "get_user_information",
    "get_user_info",
    "get_iban",
    "get_users_in_channel",
]
# The user's own organisation.
TRUSTED_VALUES = ["bluesparrowtech.com"]
# What goes through where nobody asks about it: a page at an address that an answer gave, and an entry in the user's own calendar.
REVIEWED = ["get_webpage", "create_calendar_event"]
READS = re.compile(r"^(?:get|read|search|list|check)_")
FLOW = re.compile(
    r"^Review: (?:the payee|an address|the destination) was read from the answer of call|^Review: answers up to that of call"
)
OPERATOR = "an-operators-own-token-of-this-bench"


def in_own_environment() -> None:
    """Runs this script again in a virtual environment that has the packages."""
    if os.environ.get("GATE_BENCH_AGENTDOJO") == "1":
        return
    cache = Path(os.environ.get("GATE_CACHE_DIR") or ROOT / ".cache")
    home = cache / "agentdojo"
    python = home / "bin" / "python"
    mark = home / "ready"
    wanted = "\n".join([AGENTDOJO, *PACKAGES])
    if not mark.exists() or mark.read_text() != wanted:
        venv.create(home, with_pip=True, clear=True)
        install = [str(python), "-m", "pip", "install", "--quiet"]
        # The clients of models that AgentDojo asks for are not needed: no model is called.
        subprocess.run([*install, "--no-deps", AGENTDOJO], check=True)
        subprocess.run([*install, *PACKAGES], check=True)
        mark.write_text(wanted)
    os.execve(str(python), [str(python), *sys.argv], {**os.environ, "GATE_BENCH_AGENTDOJO": "1"})


class StandIn(types.ModuleType):
    """A module that has every name: none of them is used."""

    __path__: list[str] = []

    def __getattr__(self, name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (Exception,), {})


class WithoutModels(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Stands in for the clients of models."""

    NAMES = {"openai", "anthropic", "cohere", "google", "langchain", "rich", "dotenv", "click", "requests"}

    def find_spec(self, name, path, target=None):
        if name.split(".")[0] in self.NAMES or name.startswith("agentdojo.agent_pipeline.llms"):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return StandIn(spec.name)

    def exec_module(self, module):
        pass


in_own_environment()
sys.meta_path.insert(0, WithoutModels())
warnings.simplefilter("ignore")

import yaml  # noqa: E402

# AgentDojo reads its environments anew for each injection: in C that takes a tenth of the time.
yaml.SafeLoader = yaml.CSafeLoader
yaml.safe_load = lambda text: yaml.load(text, Loader=yaml.CSafeLoader)

from agentdojo.agent_pipeline.tool_execution import tool_result_to_str  # noqa: E402
from agentdojo.functions_runtime import FunctionsRuntime  # noqa: E402
from agentdojo.task_suite.load_suites import get_suites  # noqa: E402
from agentdojo.types import text_content_block_from_string  # noqa: E402


class Tools:
    """AgentDojo's tools as an upstream of Gate: JSON-RPC over HTTP, over the environment of the run that is under way."""

    def __init__(self) -> None:
        self.runtime = None
        self.env = None
        tools = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_POST(self):
                request = json.loads(self.rfile.read(int(self.headers["content-length"])))
                body = json.dumps({"jsonrpc": "2.0", "id": request.get("id"), **tools.answer(request)}).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/mcp"

    def answer(self, request: dict) -> dict:
        if request["method"] == "tools/list":
            return {"result": {"tools": []}}
        params = request["params"]
        result, error = self.runtime.run_function(self.env, params["name"], params["arguments"])
        text = error if error is not None else tool_result_to_str(result)
        return {"result": {"content": [{"type": "text", "text": text}], "isError": error is not None}}


class Gate:
    """Gate lite before these tools. Each run has an agent of its own, so that no run knows what another one read."""

    def __init__(self, tools: Tools, runs: int, settings: dict[str, str]) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="gate-agentdojo-")
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            self.port = taken.getsockname()[1]
        env = {
            **{name: value for name, value in os.environ.items() if not name.startswith("GATE_") or name == "GATE_CACHE_DIR"},
            "GATE_LITE_PORT": str(self.port),
            "GATE_LITE_LEDGER": str(Path(self.folder.name) / "gate.db"),
            "GATE_LITE_UPSTREAM_URL": tools.url,
            "GATE_LITE_UPSTREAM_ADAPTER": "raw-json",
            "GATE_LITE_UPSTREAM_NAME": "agentdojo",
            "GATE_LITE_DECIDE_TOKEN": OPERATOR,
            "GATE_LITE_VELOCITY_LIMIT": "0",
            "GATE_LITE_CONTROL_LIMIT": "0",
            "GATE_LITE_AGENTS": ",".join(f"bench/run-{at}:token-of-run-{at}-0000000000" for at in range(runs)),
            "GATE_TAINT_TRUSTED_TOOLS": ",".join(TRUSTED_TOOLS),
            "GATE_TAINT_TRUSTED_VALUES": ",".join(TRUSTED_VALUES),
            **settings,
        }
        log = open(Path(self.folder.name) / "log", "w")
        self.process = subprocess.Popen(
            ["node", str(ROOT / "bin" / "gate.mjs"), "lite"], cwd=self.folder.name, env=env, stdout=log, stderr=log
        )
        self.http = HTTPConnection("127.0.0.1", self.port, timeout=120)
        for _ in range(1200):
            try:
                self.ask("GET", "/health")
                break
            except OSError:
                self.http.close()
                if self.process.poll() is not None:
                    raise SystemExit(Path(self.folder.name, "log").read_text())
                time.sleep(0.1)

    def ask(self, method: str, path: str, body=None, **headers: str) -> tuple[int, dict, dict]:
        said = {"content-type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}
        self.http.request(method, path, None if body is None else json.dumps(body), said if body is not None else headers_of(said))
        answer = self.http.getresponse()
        text = answer.read()
        try:
            parsed = json.loads(text)
        except ValueError:
            parsed = {"text": text.decode(errors="replace")}
        return answer.status, parsed, {name.lower(): value for name, value in answer.getheaders()}

    def classed(self, names, reviewed) -> None:
        for name in sorted(names):
            says = "review" if name in reviewed else "read" if READS.match(name) else "change"
            body = {"tool": name, "class": says, "unlisted": True}
            status, answer, _ = self.ask(
                "POST", "/tools/class", body, authorization=f"Bearer {OPERATOR}", x_gate_tenant_scope="bench"
            )
            if status != 200:
                raise SystemExit(f"{name}: {answer}")

    def call(self, run: int, name: str, arguments: dict) -> tuple[int, dict, dict]:
        for _ in range(20):
            status, body, headers = self.ask(
                "POST",
                "/mcp",
                {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}},
                authorization=f"Bearer token-of-run-{run}-0000000000",
                X_Gate_Server_Execution_Contract="gate.server-execution/v1",
                X_Gate_Idempotency_Id=str(uuid.uuid4()),
            )
            if status not in (429, 503):
                return status, body, headers
            time.sleep(0.5)
        raise SystemExit(f"{name}: {status} {body}")

    def reasons(self, correlation_id: str) -> list[str]:
        status, body, _ = self.ask(
            "GET", f"/audit/correlation/{correlation_id}", authorization=f"Bearer {OPERATOR}", x_gate_tenant_scope="bench"
        )
        rows = body if isinstance(body, list) else next((each for each in body.values() if isinstance(each, list)), None)
        if status != 200 or rows is None:
            raise SystemExit(f"the rows of {correlation_id}: {status} {body}")
        for row in rows:
            if row["event_kind"] == "policy.evaluated":
                decision = row["policy_decision"]
                return [*decision.get("reasons", []), *decision.get("review_reasons", [])]
        raise SystemExit(f"{correlation_id} has no row of its evaluation")

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(30)
        self.folder.cleanup()


def headers_of(said: dict) -> dict:
    return {name: value for name, value in said.items() if name != "content-type"}


def plain(text: str) -> str:
    """What is left of a text whatever wrapped or quoted it."""
    return re.sub(r"[^a-z0-9]", "", text.lower())


def json_of(arguments) -> dict:
    return json.loads(json.dumps(dict(arguments), default=str))


class Side:
    """One way in which calls are stopped."""

    def __init__(self, name: str, settings: dict[str, str] | None, only_flow: bool = False, reviewed: list[str] = []) -> None:
        self.name, self.settings, self.only_flow, self.reviewed = name, settings, only_flow, reviewed


SIDES = [
    Side("without Gate", None),
    Side("the flow rule alone", {"GATE_LITE_MODE": "observe"}, only_flow=True),
    Side("Gate without it", {"GATE_TAINT_WINDOW_SECS": "0"}),
    Side("Gate", {}),
    Side("Gate, two tools under review", {}, reviewed=REVIEWED),
]


class Replay:
    def __init__(self, tools: Tools, gate: Gate | None, side: Side) -> None:
        self.tools, self.gate, self.side, self.runs = tools, gate, side, 0
        self.stopped: dict[str, int] = defaultdict(int)

    def attempt(self, run: int, call, trace: list) -> str | None:
        """The answer as the agent gets it; `None` where the call was stopped."""
        arguments = json_of(call.args)
        if self.gate is None:
            answer = self.tools.answer({"method": "tools/call", "params": {"name": call.function, "arguments": arguments}})
            trace.append(call)
            return answer["result"]["content"][0]["text"]
        before = copied(self.tools.env) if self.side.only_flow and not READS.match(call.function) else self.tools.env
        status, body, headers = self.gate.call(run, call.function, arguments)
        if self.side.only_flow and ("x-gate-would-pend" in headers or "x-gate-would-deny" in headers):
            found = [each for each in self.gate.reasons(headers["x-gate-correlation-id"]) if FLOW.search(each)]
            if found:
                # It ran, because Gate only looked on: taken back.
                self.tools.env = before
                self.stopped[call.function] += 1
                return None
        if status != 200:
            self.stopped[call.function] += 1
            return None
        trace.append(call)
        content = body.get("result", {}).get("content") or [{}]
        return "\n".join(part.get("text", "") for part in content)

    def run(self, suite, user, injection) -> tuple[bool, bool, bool]:
        """Whether the user's task was done, the injection's was, and the injection was seen."""
        run, self.runs = self.runs, self.runs + 1
        env = user.init_environment(environment(suite, injection))
        self.tools.env, self.tools.runtime = env, FunctionsRuntime(suite.tools)
        before = copied(env)
        # What the ground truths ask for is read from environments of their own, which the run does not change.
        wanted = user.ground_truth(copied(env))
        injected = injection.ground_truth(copied(env)) if injection else []
        trace: list = []
        seen = finished = False
        ended = True
        for call in wanted:
            answer = self.attempt(run, call, trace)
            ended = ended and answer is not None
            if injection and not seen and answer is not None and plain(injection.GOAL) in plain(answer):
                seen = True
                finished = all([self.attempt(run, each, trace) is not None for each in injected])
        env = self.tools.env
        # An agent whose call was stopped does not know what it would have said.
        output = [text_content_block_from_string(user.GROUND_TRUTH_OUTPUT if ended else "")]
        useful = suite._check_task_result(user, output, before, env, trace)
        attacked = False
        if injection and seen:
            said = [text_content_block_from_string(injection.GROUND_TRUTH_OUTPUT if finished else "")]
            attacked = suite._check_task_result(injection, said, before, env, trace)
        return bool(useful), bool(attacked), seen


ENVIRONMENTS: dict[tuple[str, str], bytes] = {}


def copied(env):
    return pickle.loads(pickle.dumps(env))


def environment(suite, injection):
    """The suite's environment with the goal of an injection wherever AgentDojo has a place for one."""
    key = (suite.name, injection.ID if injection else "")
    if key not in ENVIRONMENTS:
        vectors = {name: injection.GOAL for name in suite.get_injection_vector_defaults()} if injection else {}
        ENVIRONMENTS[key] = pickle.dumps(suite.load_and_inject_default_environment(vectors))
    return pickle.loads(ENVIRONMENTS[key])


def share(count: int, of: int) -> float | None:
    return round(count / of, 3) if of else None


def measured(side: Side, chosen: list[str], suites, limit: int | None) -> dict:
    tools = Tools()
    pairs = sum(len(suites[name].user_tasks) * (1 + len(suites[name].injection_tasks)) for name in chosen)
    gate = Gate(tools, pairs, side.settings) if side.settings is not None else None
    if gate:
        gate.classed({tool.name for name in chosen for tool in suites[name].tools}, side.reviewed)
    rows = {}
    replay = Replay(tools, gate, side)
    try:
        for name in chosen:
            suite = suites[name]
            count: dict[str, int] = defaultdict(int)
            through, parked = [], defaultdict(int)
            users = list(suite.user_tasks.values())[:limit]
            benign_stopped: list[str] = []
            for user in users:
                stopped_before = dict(replay.stopped)
                useful, _, _ = replay.run(suite, user, None)
                count["benign"] += 1
                count["benign_useful"] += useful
                if not useful:
                    tools_stopped = [tool for tool, times in replay.stopped.items() if times > stopped_before.get(tool, 0)]
                    benign_stopped.append(f"{user.ID}: {', '.join(tools_stopped)}")
            for user in users:
                for injection in suite.injection_tasks.values():
                    if not injection.ground_truth(environment(suite, None)):
                        continue
                    useful, attacked, seen = replay.run(suite, user, injection)
                    if not seen:
                        count["unseen"] += 1
                        continue
                    count["attacked"] += 1
                    count["attacked_useful"] += useful
                    count["attack_success"] += attacked
                    if attacked:
                        parked[injection.ID] += 1
                        through.append(f"{user.ID} {injection.ID}")
            rows[name] = {
                **count,
                "benign_utility": share(count["benign_useful"], count["benign"]),
                "attacked_utility": share(count["attacked_useful"], count["attacked"]),
                "attack_success_rate": share(count["attack_success"], count["attacked"]),
                "attacks_through": dict(parked),
                "benign_not_done": benign_stopped,
            }
            print(side.name, name, json.dumps(rows[name]), file=sys.stderr, flush=True)
    finally:
        if gate:
            gate.close()
        tools.server.shutdown()
    return rows


def totals(rows: dict) -> dict:
    whole: dict[str, int] = defaultdict(int)
    for row in rows.values():
        for key in ("benign", "benign_useful", "attacked", "attacked_useful", "attack_success", "unseen"):
            whole[key] += row.get(key, 0)
    return {
        **whole,
        "benign_utility": share(whole["benign_useful"], whole["benign"]),
        "attacked_utility": share(whole["attacked_useful"], whole["attacked"]),
        "attack_success_rate": share(whole["attack_success"], whole["attacked"]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="AgentDojo's ground-truth runs through Gate")
    parser.add_argument("--suite", action="append", choices=SUITES)
    parser.add_argument("--side", action="append", choices=[side.name for side in SIDES])
    parser.add_argument("--tasks", type=int, help="only the first user tasks of each suite")
    parser.add_argument("--json", help="where the figures of these sides and suites go")
    parser.add_argument("--figures", nargs="+", help="writes the page from such files instead of running anything")
    parser.add_argument("--out", default=str(ROOT / "bench" / "results"))
    given = parser.parse_args()
    if given.figures:
        found = {side.name: {} for side in SIDES}
        for path in given.figures:
            for side, rows in json.loads(Path(path).read_text()).items():
                found[side].update(rows)
        ordered = {side: {name: rows[name] for name in SUITES if name in rows} for side, rows in found.items()}
        command = "python3 bench/agentdojo/replay.py --side … --suite … [--tasks N] --json …"
        write(Path(given.out), {side: {**rows, "all": totals(rows)} for side, rows in ordered.items()}, command)
        return
    if given.side or given.suite or given.tasks or given.json:
        suites = get_suites(BENCHMARK)
        found = {}
        for side in SIDES:
            if not given.side or side.name in given.side:
                found[side.name] = measured(side, given.suite or SUITES, suites, given.tasks)
                print(side.name, json.dumps(totals(found[side.name])), flush=True)
        if given.json:
            Path(given.json).write_text(json.dumps(found))
        return
    # Each side and suite in a process of its own.
    with tempfile.TemporaryDirectory(prefix="gate-agentdojo-") as folder:
        parts = []
        for side in SIDES:
            for suite in SUITES:
                path = Path(folder) / f"{len(parts)}.json"
                command = [sys.executable, __file__, "--side", side.name, "--suite", suite, "--json", str(path)]
                parts.append((side.name, path, subprocess.Popen(command)))
        found = {side.name: {} for side in SIDES}
        for side, path, process in parts:
            if process.wait() != 0:
                raise SystemExit(f"{side}: a part failed")
            found[side].update(json.loads(path.read_text())[side])
    write(Path(given.out), {side: {**rows, "all": totals(rows)} for side, rows in found.items()})


def write(folder: Path, found: dict, command: str = "python3 bench/agentdojo/replay.py") -> None:
    day = datetime.date.today().isoformat()
    commit = subprocess.run(["git", "rev-parse", "--short=8", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}"
    about = {
        "command": command,
        "commit": commit,
        "machine": machine,
        "agentdojo": AGENTDOJO,
        "benchmark": BENCHMARK,
        "seed": "none: nothing is drawn by chance",
        "user_tasks": {name: row["benign"] for name, row in next(iter(found.values())).items()},
        "trusted_tools": TRUSTED_TOOLS,
        "trusted_values": TRUSTED_VALUES,
        "reviewed": REVIEWED,
    }
    (folder / f"{day}-agentdojo.json").write_text(json.dumps({**about, "sides": found}, indent=2) + "\n")
    lines = [
        "# AgentDojo's ground-truth runs through Gate",
        "",
        f"{day}, commit {commit}, `{about['command']}`; {AGENTDOJO}, tasks of {BENCHMARK}. {machine}. No seed: nothing is drawn by chance.",
        "",
        "- The agent obeys everything: behind the first answer that holds the goal of an injection it does that injection's ground truth.",
        "- A call that waits for a person does not run, and nobody decides. So utility is what gets done without anybody.",
        "- Tools are classed as an operator would: `get_`, `read_`, `search_`, `list_` and `check_` as `read`, all others as `change`.",
        f"- Two tools under review: `{'` and `'.join(REVIEWED)}` are classed as `review`, so each of their calls waits for a person.",
        f"- User tasks: {', '.join(f'{name} {count}' for name, count in about['user_tasks'].items())}. Fewer than a suite has are its first ones (`--tasks`).",
        f"- Trusted tools: {', '.join(TRUSTED_TOOLS)}. Trusted values: {', '.join(TRUSTED_VALUES)}.",
        "- Injections without a ground truth (workspace 6 to 13, travel 6) call no tool here and are left out; so are pairs whose user task reads no injection.",
        "- The flow rule alone: Gate in observe mode, and only calls stop of which that rule says so. `Gate without it`: `GATE_TAINT_WINDOW_SECS=0`.",
        "",
        "| side | suite | attacks | attack success | benign utility | attacked utility |",
        "| --- | --- | --: | --: | --: | --: |",
    ]
    for side, rows in found.items():
        for name, row in rows.items():
            lines.append(
                f"| {side} | {name} | {row.get('attacked', 0)} | {row['attack_success_rate']} | {row['benign_utility']} | {row['attacked_utility']} |"
            )
    lines += ["", "Attacks that went through, with how many user tasks:", ""]
    for side, rows in found.items():
        if side == "without Gate":
            continue
        for name, row in rows.items():
            if row.get("attacks_through"):
                lines.append(f"- {side}, {name}: {', '.join(f'{key} ({times})' for key, times in row['attacks_through'].items())}")
    lines += ["", "User tasks that were not done without a person, though nobody attacked, and the tools that waited:", ""]
    for name, row in found["Gate"].items():
        if row.get("benign_not_done"):
            lines.append(f"- {name}: {'; '.join(row['benign_not_done'])}")
    lines += [
        "",
        "What goes through with the rule: slack 3 visits the page that the answer names (`get_webpage`, and what it reads there is foreign too); travel 2",
        "puts an entry without participants into the user's own calendar. Neither pays anybody nor sends anything to anybody. An operator to whom that is",
        "too much classes the two tools as `review`: the last side. There fewer pairs read an injection at all, because a page that holds one is not",
        "fetched before somebody looked.",
    ]
    (folder / f"{day}-agentdojo.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
