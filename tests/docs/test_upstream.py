# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The patches for headers in docs/upstream apply to LLVM 22, and a plugin can use what they add."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.corpus.build import bindir
from tests.docs.page import DOCS

USES: Final = {
    "pass-manager-add-concept": """
#include "llvm/IR/PassManager.h"
using Concept = llvm::detail::PassConcept<llvm::Function, llvm::FunctionAnalysisManager>;
struct Named final : Concept {
  llvm::PreservedAnalyses run(llvm::Function &, llvm::FunctionAnalysisManager &) override {
    return llvm::PreservedAnalyses::all();
  }
  void printPipeline(llvm::raw_ostream &,
                     llvm::function_ref<llvm::StringRef(llvm::StringRef)>) override {}
  llvm::StringRef name() const override { return "mine"; }
  bool isRequired() const override { return false; }
};
struct Plain : llvm::PassInfoMixin<Plain> {
  llvm::PreservedAnalyses run(llvm::Function &, llvm::FunctionAnalysisManager &);
};
void add(llvm::FunctionPassManager &PM) {
  PM.addPass(std::unique_ptr<Concept>(new Named));
  PM.addPass(Plain());
  PM.addPass(llvm::FunctionPassManager());
}
""",
    "release-eviction-runner": """
#include "llvm/CodeGen/RegAllocEvictionAdvisor.h"
auto *make(llvm::LLVMContext &C, std::unique_ptr<llvm::MLModelRunner> R) {
  return llvm::createReleaseModeAdvisorProvider(C, std::move(R));
}
auto *plain(llvm::LLVMContext &C) { return llvm::createReleaseModeAdvisorProvider(C); }
""",
    "release-priority-runner": """
#include "llvm/CodeGen/RegAllocPriorityAdvisor.h"
auto *make(std::unique_ptr<llvm::MLModelRunner> R) {
  return llvm::createReleaseModePriorityAdvisorProvider(std::move(R));
}
auto *plain() { return llvm::createReleaseModePriorityAdvisorProvider(); }
""",
    "callback-accessors": """
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/Passes/PassBuilder.h"
bool use(llvm::PassBuilder &PB, const llvm::MachineFunction &MF) {
  PB.clearModuleAnalysisRegistrationCallbacks();
  return PB.getPGOOptions().has_value() && MF.getDelegate();
}
""",
}


@pytest.mark.parametrize("name", USES)
def test_a_patch_applies_and_is_of_use(name: str, tmp_path: Path) -> None:
    patch = DOCS / "upstream" / f"{name}.patch"
    lines = patch.read_text().splitlines()
    assert len(lines) < 50
    folder = Path(subprocess.check_output([bindir() / "llvm-config", "--includedir"], text=True).strip())
    for header in re.findall(r"^\+\+\+ b/llvm/include/(.+)$", patch.read_text(), re.MULTILINE):
        copy = tmp_path / header
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(folder / header, copy)
    source = tmp_path / "use.cpp"
    source.write_text(USES[name])
    include = f"-I{tmp_path}", f"-isystem{folder}"
    compiler: list[str | Path] = [bindir() / "clang++", "-std=c++17", "-fsyntax-only", *include, source]
    assert subprocess.run(compiler, capture_output=True, check=False).returncode == 1
    subprocess.run(["git", "apply", "-p3", "--include=llvm/*", patch], cwd=tmp_path, check=True)
    subprocess.run(compiler, check=True)
