# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from passpilot.cli.log import main
from passpilot.plugin.errors import LogError, UsageError
from tests.features.log.log_writer import header, inline_log, line, observation, outcome, row

DECISIONS: list[tuple[int, int, int, dict[str, str]]] = [
    (3, 1, 1, {"caller": "main", "callee": "helper", "location": "a.c:3:7"}),
    (1, 0, 1, {"caller": "main", "callee": "free"}),
    (2, 0, 0, {}),
]

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def log(tmp_path: Path) -> str:
    path = tmp_path / "decisions.log"
    path.write_bytes(inline_log(DECISIONS))
    return str(path)


def test_show(log: str, capsys: Capture) -> None:
    assert main(["show", log]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "decision default  advice   call",
        "       0 inline   inline   main -> helper  a.c:3:7",
        "       1 no       inline   main -> free",
        "       2 no       no",
        "3 decisions, 2 inlined, 2 as LLVM's default (66.7 %)",
    ]


def test_names_reach_no_terminal_as_they_are(tmp_path: Path, capsys: Capture) -> None:
    """A log of somebody else: escapes, a byte that is not UTF-8, and a mark that turns the text around."""
    places = {"caller": "\x1b]0;title\x07", "callee": "\udcff\u202eg", "location": "a\r.c:3"}
    text = inline_log([(1, 1, 1, places)]).replace(b'{"context":""}', b'{"context":"\\u001b[2J\\u009b"}')
    path = tmp_path / "log"
    path.write_bytes(text)
    assert main(["show", str(path)]) == 0
    shown = capsys.readouterr().out
    assert r"context \x1b[2J\x9b:" in shown
    assert r"\x1b]0;title\x07 -> \xff\u202eg  a\r.c:3" in shown
    assert shown.replace("\n", "").isprintable()


def test_show_limit(log: str, capsys: Capture) -> None:
    assert main(["show", log, "--limit", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1:] == [
        "       0 inline   inline   main -> helper  a.c:3:7",
        "3 decisions, 2 inlined, 2 as LLVM's default (66.7 %); the first 1 shown",
    ]
    assert main(["show", log, "--limit", "3"]) == 0
    assert capsys.readouterr().out.endswith("(66.7 %)\n")


def test_show_csv(log: str, capsys: Capture) -> None:
    assert main(["show", "--csv", "--limit=2", log]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "context,observation,caller,callee,location,callee_users,inlining_default,inlining_decision",
        ",0,main,helper,a.c:3:7,3,1,1",
        ",1,main,free,,1,0,1",
    ]


def test_show_csv_of_larger_tensors_and_a_score(eviction_log: str, capsys: Capture) -> None:
    assert main(["show", "--csv", eviction_log]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "context,observation,register,density[0],density[1],index_to_evict,reward",
        "f,0,,nan,0.5,32,inf",
        "g,0,,1.0,2.0,4,1.5",
    ]


def test_show_a_folder(log: str, evictions: str, tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "x.log").write_bytes(inline_log(DECISIONS))
    (tmp_path / "notes.txt").write_text("no log\n")
    assert main(["show", str(tmp_path), "--limit=0"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("log ")] == [
        f"log {log}:",
        f"log {evictions}:",
        f"log {tmp_path}/more/x.log:",
    ]
    assert lines[-2:] == [
        "all logs of inlining_decision: 6 decisions, 4 inlined, 4 as LLVM's default (66.7 %)",
        "all logs of index_to_evict: 3 decisions, 2 evicted, 2 as LLVM's default (66.7 %)",
    ]


def test_several_logs_as_json_and_csv(log: str, tmp_path: Path, capsys: Capture) -> None:
    other = tmp_path / "other.log"
    other.write_bytes(inline_log(DECISIONS[:1]))
    assert main(["show", "--json", log, str(other)]) == 0
    rows = [json.loads(text) for text in capsys.readouterr().out.splitlines()]
    assert [row["log"] for row in rows] == [log] * 3 + [str(other)]
    assert main(["show", "--csv", log, str(other)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("log,context,")
    assert lines[-1].startswith(f"{other},,0,main,")


def test_csv_of_logs_of_two_points(log: str, evictions: str, capsys: Capture) -> None:
    with pytest.raises(LogError, match=r"evict\.log: expected the tensors of .*decisions\.log for --csv"):
        main(["show", "--csv", log, evictions])
    assert capsys.readouterr().out.count("\n") == 4


def test_a_folder_without_logs(tmp_path: Path) -> None:
    with pytest.raises(LogError, match=f"expected logs in the folder {tmp_path}, got no file"):
        main(["show", str(tmp_path)])


def test_diff(log: str, tmp_path: Path, capsys: Capture) -> None:
    main_calls = {"caller": "main", "callee": "helper", "location": "a.c:3:7"}
    other = tmp_path / "other"
    other.write_bytes(
        inline_log(
            [
                (3, 1, 0, main_calls),
                (3, 1, 1, main_calls),
                (1, 0, 1, {"caller": "main", "callee": "free"}),
                (2, 0, 1, {}),
            ]
        )
    )
    assert main(["diff", log, str(other)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "       A        B advice A advice B call",
        "       0        0 inline   no       main -> helper  a.c:3:7",
        "       2        3 no       inline",
        "3 in both, 2 different (66.7 %), 0 only in the first, 1 only in the second",
    ]
    assert main(["diff", log, log, "--limit=1"]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "3 in both, 0 different (0.0 %), 0 only in the first, 0 only in the second"
    ]


def test_diff_of_two_points(log: str, evictions: str) -> None:
    with pytest.raises(LogError, match="of one decision point, got inlining_decision and index_to_evict"):
        main(["diff", log, evictions])


def test_diff_pairs_decisions_of_one_register(evictions: str, tmp_path: Path, capsys: Capture) -> None:
    other = tmp_path / "other"
    decisions = [("main", "%7", 32, 5), ("main", "%12", 3, 3), ("other", "%12", 32, 32)]
    other.write_bytes(allocator_log("index_to_evict", "int64_t", decisions))
    assert main(["diff", evictions, str(other)]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "       1        0 0        5        main: %7",
        "3 in both, 1 different (33.3 %), 0 only in the first, 0 only in the second",
    ]


def test_evictions_show_registers_by_name(tmp_path: Path, capsys: Capture) -> None:
    rows = [row("size"), row("evict_default"), row("index_to_evict")]
    names = {"register": "%12", "registers": "rax rcx"}
    parts = [line(context="f"), observation(rows, 0, [16, 32, 1], **names)]
    parts += [observation(rows, 1, [16, 0, 5], **names)]
    path = tmp_path / "log"
    path.write_bytes(header(rows) + b"".join(parts))
    assert main(["show", str(path)]) == 0
    assert capsys.readouterr().out.splitlines()[2:4] == [
        "       0 keep     rcx      %12",
        "       1 rax      5        %12",
    ]
    assert main(["show", "--json", "--limit=1", str(path)]) == 0
    assert json.loads(capsys.readouterr().out)["registers"] == ["rax", "rcx"]


def test_show_nothing(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "log"
    path.write_bytes(inline_log([]))
    assert main(["show", str(path)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "0 decisions, 0 inlined"


def test_show_json(log: str, capsys: Capture) -> None:
    assert main(["show", "-json", log, "-limit=2", "-traceback"]) == 0
    lines = [json.loads(text) for text in capsys.readouterr().out.splitlines()]
    assert lines == [
        {
            "context": "",
            "observation": number,
            "caller": "main",
            "callee": place["callee"],
            "location": place.get("location", ""),
            "tensors": {"callee_users": users, "inlining_default": default, "inlining_decision": advice},
        }
        for number, (users, default, advice, place) in enumerate(DECISIONS[:2])
    ]


def allocator_log(advice: str, llvm: str, decisions: Sequence[tuple[str, str, float, float]]) -> bytes:
    """A log as the core writes it of register allocation: context, register, default, advice."""
    default = {"index_to_evict": "evict_default", "priority": "priority_default"}[advice]
    rows = [row("size"), row(default, llvm), row(advice, llvm)]
    parts, context = [header(rows)], ""
    for number, (function, register, by_llvm, answer) in enumerate(decisions):
        if function != context:
            parts.append(line(context=function))
            context = function
        parts.append(observation(rows, number, [16, by_llvm, answer], register=register))
    return b"".join(parts)


@pytest.fixture
def evictions(tmp_path: Path) -> str:
    path = tmp_path / "evict.log"
    decisions = [("main", "%12", 3, 3), ("main", "%7", 32, 0), ("other", "%12", 32, 32)]
    path.write_bytes(allocator_log("index_to_evict", "int64_t", decisions))
    return str(path)


def test_show_evictions(evictions: str, capsys: Capture) -> None:
    assert main(["show", evictions]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "decision default  advice   register",
        "context main:",
        "       0 3        3        %12",
        "       1 keep     0        %7",
        "context other:",
        "       2 keep     keep     %12",
        "3 decisions, 2 evicted, 2 as LLVM's default (66.7 %)",
    ]


def test_show_priorities(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "log"
    decisions = [("f", "%0", 3221225984.0, 3221225984.0), ("f", "%1", 16.0, 0.25)]
    path.write_bytes(allocator_log("priority", "double", decisions))
    assert main(["show", str(path)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "decision default    advice     register",
        "context f:",
        "       0 3221225984 3221225984 %0",
        "       1 16         0.25       %1",
        "2 decisions, 1 as LLVM's default (50.0 %)",
    ]


def test_json_of_evictions(evictions: str, capsys: Capture) -> None:
    assert main(["show", "--json", "--limit=1", evictions]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "context": "main",
        "observation": 0,
        "register": "%12",
        "tensors": {"size": 16, "evict_default": 3, "index_to_evict": 3},
    }


@pytest.fixture
def eviction_log(tmp_path: Path) -> str:
    rows, score = [row("density", "float", (1, 2)), row("index_to_evict")], row("reward", "float")
    path = tmp_path / "evict.log"
    path.write_bytes(
        header(rows, score)
        + line(context="f")
        + observation(rows, 0, [[float("nan"), 0.5], 32])
        + outcome(score, 0, float("inf"))
        + line(context="g")
        + observation(rows, 0, [[1.0, 2.0], 4])
        + outcome(score, 0, 1.5)
    )
    return str(path)


def test_show_log_of_mlgo(eviction_log: str, capsys: Capture) -> None:
    assert main(["show", eviction_log]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "context f:",
        "       0 -        keep",
        "context g:",
        "       0 -        4",
        "2 decisions, 1 evicted",
    ]


def test_show_log_of_another_decision(tmp_path: Path, capsys: Capture) -> None:
    rows = [row("size"), row("unroll_count")]
    path = tmp_path / "log"
    path.write_bytes(header(rows) + observation(rows, 0, [3, 8]))
    assert main(["show", str(path)]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == ["       0 -        8", "1 decision"]


def test_json_has_null_for_what_is_not_finite(eviction_log: str, capsys: Capture) -> None:
    assert main(["show", "--json", eviction_log]) == 0
    first, second = (json.loads(text) for text in capsys.readouterr().out.splitlines())
    assert first["tensors"] == {"density": [[None, 0.5]], "index_to_evict": 32}
    assert (first["score"], second["score"]) == (None, 1.5)


def test_truncated_log_shows_what_is_there_and_raises(log: str, capsys: Capture) -> None:
    data = Path(log).read_bytes()
    Path(log).write_bytes(data[:-3])
    with pytest.raises(LogError, match=f"at byte {len(data) - 3}: expected more of the log"):
        main(["show", log])
    assert capsys.readouterr().out.count("\n") == 3


@pytest.mark.parametrize(
    "arguments", [[], ["show"], ["show", "x", "--limit", "-1"], ["show", "x", "--limit=a"], ["hide"]]
)
def test_usage_errors_exit_with_2(arguments: list[str]) -> None:
    with pytest.raises(UsageError, match=r"^log.*; see `passpilot log( show)? --help`$") as caught:
        main(arguments)
    assert caught.value.exit_code == 2


def test_help_has_an_example(capsys: Capture) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["show", "--help"])
    assert caught.value.code == 0
    assert "passpilot log show decisions.log --limit 20" in capsys.readouterr().out


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_closed_pipe_ends_quietly(options: list[str], tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(inline_log([DECISIONS[0]] * 20_000))
    code = "import sys; from passpilot.cli.log import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, "show", str(path), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        assert child.stdout.readline()
        child.stdout.close()
        assert child.stderr.read() == b""
    assert child.returncode == 0
