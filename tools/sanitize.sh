#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: tools/sanitize.sh address|thread PYTEST_ARGUMENT...
#
# Runs tests with a passpilot whose C++ is built with sanitizers: `address` is AddressSanitizer and
# UndefinedBehaviorSanitizer, `thread` is ThreadSanitizer. The build is in build/address or build/thread, in a .venv of
# its own that shares the Python packages of .venv. A finding ends the process that it is in with exit code 66, and
# the findings are printed at the end. `make sanitize` calls this script.
set -euo pipefail
cd "$(dirname "$0")/.."
llvm=$(sed -n 's/^set(PASSPILOT_LLVM_MAJOR \([0-9]*\))/\1/p' plugin/CMakeLists.txt)
kind=${1:-}
case $kind in
  address) flags=address,undefined runtime=asan ;;
  thread) flags=thread runtime=tsan ;;
  *) echo "tools/sanitize.sh: expected address or thread, got '$kind'" >&2; exit 2 ;;
esac
shift
folder=$PWD/build/$kind
python=$folder/venv/bin/python
platlib() { "$1" -c 'import sysconfig; print(sysconfig.get_path("platlib"))'; }

if [ ! -x "$python" ]; then
  .venv/bin/python -m venv --without-pip "$folder/venv"
  # Python does not read the .pth files of a folder that a .pth file adds, so .venv's own passpilot is not found.
  platlib .venv/bin/python >"$(platlib "$python")/shared.pth"
fi
ln -sf "$PWD"/.venv/bin/{cmake,ninja} "$folder/venv/bin/" # which tests run
# All is compiled by clang: the MLIR plugin must be, and a process has one sanitizer runtime.
PATH=$PWD/.venv/bin:$PATH CC=clang-$llvm CXX=clang++-$llvm .venv/bin/python -m pip --python "$python" \
  --disable-pip-version-check -q install --no-deps --no-build-isolation --force-reinstall \
  --config-settings build-dir="$folder/cmake" --config-settings cmake.define.PASSPILOT_SANITIZE="$flags" -e .

# Only g++ builds MLIR's inliner for MLIR's bindings, which are built by it; the one of .venv has no sanitizer.
cp "$(platlib .venv/bin/python)"/passpilot/plugin/libpasspilot_mlir_hosted.so "$(platlib "$python")/passpilot/plugin/"

# lld, Python and gRPC are built without ThreadSanitizer, which does not see how their threads wait for each other; what
# they call in the C library is not looked at. Tests fork while gRPC has threads.
# The tools that load our plugins are not built with sanitizers, so the runtime is loaded before them. AddressSanitizer
# finds the functions that throw only if the C++ library is there when it starts. LLVM's allocators poison memory in our
# code, and give it out in LLVM's, which has no sanitizer: their poison is not looked at.
library=$("clang++-$llvm" -print-file-name="libclang_rt.$runtime-$(uname -m).so")
[ -f "$library" ] || { echo "tools/sanitize.sh: expected $library; run: sudo apt-get install libclang-rt-$llvm-dev" >&2; exit 1; }
first=
if [ "$kind" = thread ]; then # see the file's comment
  first=$folder/tsan_once.so
  "clang++-$llvm" -std=c++17 -O1 -g1 -fPIC -shared -fsanitize=thread tools/tsan_once.cpp -o "$first"
fi
findings=$folder/findings
rm -rf "$findings" && mkdir -p "$findings"
common=log_path=$findings/report:exitcode=66:symbolize=1:external_symbolizer_path=/usr/lib/llvm-$llvm/bin/llvm-symbolizer
status=0
# Programs that tests link with our libraries find it in LD_LIBRARY_PATH.
env LD_LIBRARY_PATH="${library%/*}" LD_PRELOAD="$first $library $("clang++-$llvm" -print-file-name=libstdc++.so.6)" \
  ASAN_OPTIONS="$common:detect_leaks=0:detect_odr_violation=0:allow_user_poisoning=0" \
  UBSAN_OPTIONS="$common:print_stacktrace=1:halt_on_error=1" \
  TSAN_OPTIONS="$common:suppressions=$PWD/tools/tsan.suppressions:ignore_noninstrumented_modules=1:die_after_fork=0" \
  "$python" -m pytest -q -p no:cacheprovider "$@" || status=$?
for report in "$findings"/*; do
  [ -f "$report" ] || continue
  cat "$report" && status=1
done
exit $status
