# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What an agent of `passpilot serve-compiler` may do: only with the token, without the machine's files."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

import passpilot
from passpilot.passes.python.names import llvm_names
from passpilot.plugin import _core
from passpilot.plugin.errors import CompilationError, InputError, PeerError
from passpilot.plugin.version import MAJOR
from passpilot.training.compiler_pb2 import Start
from passpilot.training.episode import CompilerClient
from passpilot.training.limits import AGENTS_PASSES, check_passes
from tests.command import GENEROUS, OPT, PASSPILOT, files_in, refused, run
from tests.training.serving import Service, first_line, served
from tests.training.tuning.test_decision_file import CALLS

CODE = b"define i32 @f() { ret i32 1 }"
INCBIN = r'".incbin \22{}\22"'


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with served(tmp_path_factory.mktemp("service")) as made:
        yield made


def test_a_token_is_made_and_printed_unless_one_is_given(tmp_path: Path) -> None:
    command = [str(PASSPILOT), "serve-compiler", "--grpc=0"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        try:
            target = f"127.0.0.1:{int(first_line(process.stdout))}"
            word, _, token = first_line(process.stdout).partition(" ")
            assert (word, len(token)) == ("token", 32)
            for wrong in ("", "another"):
                stranger = CompilerClient(target, token=wrong, timeout=GENEROUS)
                with stranger, pytest.raises(PeerError, match="UNAUTHENTICATED: expected the token"):
                    stranger.reset(CODE, point="inline", pipeline="default<Oz>")
            with CompilerClient(target, token=token, timeout=GENEROUS) as client:
                assert client.reset(CODE, point="inline", pipeline="default<Oz>") is None
            with grpc.insecure_channel(target) as channel:
                with pytest.raises(grpc.RpcError, match="UNAUTHENTICATED"):
                    health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest())
                with pytest.raises(grpc.RpcError, match="UNAUTHENTICATED"):
                    ProtoReflectionDescriptorDatabase(channel).get_services()
        finally:
            process.kill()


def test_a_token_and_none(tmp_path: Path) -> None:
    said = refused("serve-compiler", "--grpc=0", "--token=t", "--no-token", cwd=tmp_path, code=2)
    assert "choose --token or --no-token" in said


ASSEMBLY = {
    "module": "module asm " + INCBIN,
    "upper case": 'module asm ".INCLUDE \\22{}\\22"',
    "macro": 'module asm ".macro m x\\0A.inc\\\\x \\22{}\\22\\0A.endm\\0Am bin"',
    "call": "define void @g() {{\n call void asm sideeffect " + INCBIN + ', ""()\n ret void\n}}',
    "variants": "define void @g() {{\n"
    r' call void asm sideeffect ".inc$(bin$|lude$) \22{}\22", ""()' + "\n ret void\n}}",
}  # fmt: skip


@pytest.mark.parametrize("name", ASSEMBLY)
def test_assembly_reads_no_files(name: str, service: Service, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("the secret\n")
    text = ASSEMBLY[name].format(tmp_path / "secret")
    with service.client() as client:
        with pytest.raises(CompilationError, match="Could not find inc") as caught:
            client.reset(text.encode(), point="inline", pipeline="default<Oz>", reward="native-size")
        assert "the secret" not in str(caught.value)
        fine = b'module asm ".globl x"\nmodule asm "x: .byte 1"'
        assert client.reset(fine, point="inline", pipeline="default<Oz>", reward="native-size") is None


PIPELINES = [
    "insert-gcov-profiling",
    "function(sroa,dot-cfg)",
    "memprof-use<profile-filename=x>",
    "view-callgraph",
]


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_passes_that_use_files_are_refused(pipeline: str, service: Service) -> None:
    with service.client() as client:
        asked = {"pipeline": pipeline}, {"pipeline": "default<O2>", "at": {"pipeline-start": pipeline}}
        for each in asked:
            with pytest.raises(
                InputError, match=r"optimization passes of LLVM's, .* got [a-z-]+; .*--allow-files"
            ):
                client.reset(CODE, point="inline", **each)


BPF = """\
target triple = "bpfel-unknown-none"
define i32 @f() section "x" !dbg !4 {{
  ret i32 1, !dbg !7
}}
!llvm.dbg.cu = !{{!0}}
!llvm.module.flags = !{{!2}}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, emissionKind: FullDebug)
!1 = !DIFile(filename: "{}", directory: "/")
!2 = !{{i32 2, !"Debug Info Version", i32 3}}
!4 = distinct !DISubprogram(name: "f", file: !1, line: 1, type: !5, unit: !0, spFlags: DISPFlagDefinition)
!5 = !DISubroutineType(types: !6)
!6 = !{{!8}}
!7 = !DILocation(line: 1, scope: !4)
!8 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)
"""
"""Code for BPF has lines of the source files for its verifier."""


def test_agents_have_the_targets_that_are_named(service: Service, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("the secret\n")
    code = BPF.format(tmp_path / "secret").encode()
    reset = partial(
        CompilerClient.reset, module=code, point="inline", pipeline="default<Oz>", with_object=True
    )
    with service.client() as client:
        told = r"module: expected one for \w+, got one for bpfel-unknown-none; .* --target=bpfel to permit it"
        with pytest.raises(InputError, match=told):
            reset(client)
        assert client.reset(CODE, point="inline", pipeline="default<Oz>") is None
    with served(tmp_path, "--target=bpf", "--target=x86") as other, other.client() as client:
        assert reset(client) is None
        compiled = client.info["object"]
        assert isinstance(compiled, bytes)
        assert b"the secret" in compiled


GRAMMAR = {"devirt", "repeat", "require", "invalidate", "coro-cond"}
PIPELINES_OF_LLVM = {"default", "thinlto-pre-link", "thinlto", "lto-pre-link", "lto"}
WORDS = re.compile(
    "print|view|dot|dump|profile-|instrprof|gcov|sample|import|rewrite|embed|debugify|trigger|internalize"
    "|pgo-(?!icall)|memprof-(?!remove)|extract|vocab"
)
"""In the names of LLVM's passes that read, write, run or print, and of those that end a process."""


def refusal(name: str) -> str:
    """What is said of a pass; empty if agents may name it."""
    try:
        check_passes(Start(pipeline=f"function({name}<x>)", at={"x": name}))
    except InputError as error:
        return str(error)
    return ""


def test_every_pass_of_llvm_is_harmless_or_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The registry of the installed LLVM; what may run, runs here."""
    monkeypatch.chdir(tmp_path)
    told = {name: refusal(name) for name in llvm_names()}
    assert all(f" --load file, got {name}; start the service" in line for name, line in told.items() if line)
    listed = {name for name, line in told.items() if not line}
    assert listed - GRAMMAR <= AGENTS_PASSES | {*_core.permitted_passes()}
    if MAJOR >= 22:  # LLVM 21 lacks some
        assert llvm_names() >= AGENTS_PASSES - GRAMMAR
    assert [name for name in listed if WORDS.search(name)] == []
    assert len(llvm_names() - listed) > 200
    for name in sorted(listed - GRAMMAR - PIPELINES_OF_LLVM):
        passpilot.optimize(passpilot.Module(CALLS.encode()), name)
    assert files_in(tmp_path) == []
    assert capfd.readouterr() == ("", "")


def test_llvms_own_pipelines_may_be_spelled_out(tmp_path: Path) -> None:
    (tmp_path / "a.ll").write_bytes(CODE)
    for name in sorted(PIPELINES_OF_LLVM):
        for level in ("O0", "Os", "O3"):
            words = ("-print-pipeline-passes", f"-passes={name}<{level}>", "-disable-output", "a.ll")
            check_passes(Start(pipeline=run(OPT, *words, cwd=tmp_path).out.decode().strip()))


def test_all_refused_passes_are_named() -> None:
    start = Start(
        pipeline="default<O2>,function(dot-cfg,sroa,view-cfg)", at={"x": "memprof-use<profile-filename=x>"}
    )
    with pytest.raises(InputError, match="got dot-cfg, view-cfg, memprof-use; start the service"):
        check_passes(start)


def test_files_may_be_allowed(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(bytes(1000))
    text = ("module asm " + INCBIN).format(secret).encode() + b"\n" + CODE
    with served(tmp_path, "--allow-files") as service, service.client() as client:
        pipeline = "insert-gcov-profiling,default<Oz>"
        assert client.reset(text, point="inline", pipeline=pipeline, reward="native-size") is None
        value = client.info["value"]
    assert isinstance(value, float)
    assert value > 1000


def test_a_killed_services_folders_are_removed_by_the_next(tmp_path: Path) -> None:
    with served(tmp_path) as killed, served(tmp_path) as alive:
        assert len(list(alive.temporary.iterdir())) == 2
        killed.process.kill()
        killed.process.wait(GENEROUS)
        with served(tmp_path) as third:
            assert len(list(alive.temporary.iterdir())) == 2
            third.process.terminate()
            assert third.ended() == (0, "")
        alive.process.terminate()
        assert alive.ended() == (0, "")
        assert list(alive.temporary.iterdir()) == []
