#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: tools/setup.sh build|demo|test
#
# Makes a .venv with passpilot from a bare checkout on Debian 12: installs missing Debian packages (as root or
# through sudo) and the Python packages of pyproject.toml, and builds the native core in build/cmake. A second
# run only rebuilds changed C++ files.
#
# PYTHON          the interpreter of the .venv (default /usr/bin/python3, 3.11 or newer)
# NO_INSTALL      set to 1: never call apt-get; say what is missing and stop
# PASSPILOT_LLVM  the major version of LLVM. One that is not the default has a .venv-VERSION and a build/cmake-VERSION
#                 of its own, and the Python packages of the extra other-llvm
set -euo pipefail
cd "$(dirname "$0")/.."
default=$(sed -n 's/^set(PASSPILOT_LLVM_MAJOR \([0-9]*\))/\1/p' plugin/CMakeLists.txt)
llvm=${PASSPILOT_LLVM:-$default}
beside=
if [ "$llvm" != "$default" ]; then beside=-$llvm; fi
venv=.venv$beside cmake=build/cmake$beside
python=${PYTHON:-/usr/bin/python3}
group=${1:-build}

say() { printf 'passpilot: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

case $group in
  build) extras="all" ;;
  demo) extras="all,demo" ;;
  test) extras="all,demo,dev,docs,test" ;;
  *) die "expected build, demo or test, got '$group'" ;;
esac
if [ -n "$beside" ]; then extras=other-llvm; fi

mkdir -p build
exec 9>build/setup.lock
flock 9

# --- Debian packages ---------------------------------------------------------------------------------------
missing=()
need() { # usage: need PACKAGE COMMAND...; COMMAND succeeds if the package is installed
  local package=$1
  shift
  "$@" >/dev/null 2>&1 || missing+=("$package")
}
need "llvm-$llvm" command -v "opt-$llvm"
need "llvm-$llvm-dev" test -f "/usr/lib/llvm-$llvm/lib/cmake/llvm/LLVMConfig.cmake"
need "llvm-$llvm-tools" command -v "FileCheck-$llvm"
need "clang-$llvm" command -v "clang-$llvm"
# Debian installs one version of MLIR's headers: another one would take the default's away.
other_mlir() { dpkg-query -W -f '${db:Status-Abbrev}${Package}\n' 'libmlir-[0-9]*-dev' | sed -n 's/^ii *//p' | grep -vx "libmlir-$llvm-dev"; }
if [ -n "$beside" ] && other=$(other_mlir 2>/dev/null); then
  say "no plugin for mlir-opt-$llvm: libmlir-$llvm-dev would replace $other"
else
  need "libmlir-$llvm-dev" test -f "/usr/lib/llvm-$llvm/include/mlir/Transforms/Inliner.h"
fi
need "mlir-$llvm-tools" command -v "mlir-opt-$llvm"
need "lld-$llvm" command -v "ld.lld-$llvm" # links what tune and eval measure
need g++ command -v g++
if [ "$python" = /usr/bin/python3 ]; then
  need python3 test -x "$python"
  need python3-venv "$python" -c 'import ensurepip, venv'
  need python3-dev "$python" -c 'import os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")'
fi
if [ "$group" = test ]; then
  need pkg-config command -v pkg-config
  need valgrind command -v valgrind
  need strace command -v strace
  need npm command -v npm
  need ccache command -v ccache # a shape of builds
  need csmith command -v csmith
  need libcsmith-dev test -f /usr/include/csmith/csmith.h
  need libisl-dev test -f /usr/include/isl/schedule.h # an example
  need "libclang-rt-$llvm-dev" test -f "/usr/lib/llvm-$llvm/lib/clang/$llvm/lib/linux/libclang_rt.profile-$(uname -m).a" # profiles, sanitizers
fi
if [ "$group" = test ] && [ -z "$beside" ]; then # of tests that run with the default's LLVM only
  need "libomp-$llvm-dev" test -f "/usr/lib/llvm-$llvm/lib/libomp.so"
  need llvm-14 command -v opt-14 # the plugin refuses another LLVM's tools
  need clang-14 command -v clang-14
  gcc=$(g++ -dumpversion 2>/dev/null | cut -d. -f1) || true
  need "gcc-${gcc:-12}-plugin-dev" test -f "/usr/lib/gcc/$(uname -m)-linux-gnu/${gcc:-12}/plugin/include/gcc-plugin.h"
  need wasi-libc test -f /usr/lib/wasm32-wasi/libc.a
fi

known() { # one of many names is enough for apt-cache itself
  local package
  for package; do apt-cache show --no-all-versions "$package" >/dev/null 2>&1 || return; done
}

install_missing() {
  local apt=(apt-get -qq -o Dpkg::Use-Pty=0) install=(install -y --no-install-recommends "${missing[@]}")
  local by_hand="apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
  if [ "${NO_INSTALL:-0}" = 1 ] || ! command -v apt-get >/dev/null; then
    die "missing: ${missing[*]}; run: sudo sh -c '$by_hand'"
  fi
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || die "missing: ${missing[*]}; run as root: $by_hand"
    apt=(sudo DEBIAN_FRONTEND=noninteractive "${apt[@]}")
  else
    apt=(env DEBIAN_FRONTEND=noninteractive "${apt[@]}")
  fi
  say "installing from Debian: ${missing[*]}"
  if ! known "${missing[@]}"; then
    "${apt[@]}" update
    known "llvm-$llvm" || [ -z "$beside" ] || die "LLVM $llvm is not among this system's packages; Debian sid has 21" \
      "and 23, trixie-backports has 21"
    known "llvm-$llvm" || die "LLVM $llvm is not among this system's packages; Debian 12 has it in its security" \
      "suite: echo 'deb http://deb.debian.org/debian-security bookworm-security main' >>/etc/apt/sources.list"
  fi
  # Outdated package lists may name a file that no longer exists: refresh them and try once more.
  "${apt[@]}" "${install[@]}" >/dev/null || { "${apt[@]}" update && "${apt[@]}" "${install[@]}" >/dev/null; }
}
[ ${#missing[@]} = 0 ] || install_missing
found=$("llvm-config-$llvm" --version)
case $found in "$llvm".*) ;; *) die "expected LLVM $llvm, llvm-config-$llvm says $found; run:" \
  "sudo apt-get install --reinstall llvm-$llvm-dev" ;; esac
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
  die "expected Python 3.11 or newer, $python is $("$python" -V 2>&1); run again with PYTHON=/path/to/python3.11"

# --- the .venv, remade when its inputs change ---------------------------------------------------------------
mlir() { test -f "/usr/lib/llvm-$llvm/include/mlir/Transforms/Inliner.h"; } # needed to build the plugin for mlir-opt
key=$({ "$python" -VV; pwd; echo "$found"; mlir && echo mlir; sed '/^\[tool.ruff\]/,$d' pyproject.toml; cat plugin/*.py.in; } | sha256sum | cut -c1-32)
stamp() { echo "$venv/.passpilot-$1"; }
stamped() { [ -f "$(stamp "$1")" ] && [ "$(cat "$(stamp "$1")")" = "$key" ]; }
up_to_date() { stamped "$group" || { [ "$group" != test ] && stamped test; } || { [ "$group" = build ] && stamped demo; }; }

pip() { "$venv"/bin/python -m pip --disable-pip-version-check -q "$@" 2> >(grep -v '^WARNING: Location' >&2); }

build_requirements() {
  "$venv"/bin/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")'
}

site() { "$venv"/bin/python -c 'import sysconfig; print(sysconfig.get_path("platlib"))'; }

make_venv() {
  if ! "$venv"/bin/python -c '' 2>/dev/null; then
    say "creating $venv"
    rm -rf "$venv"
    "$python" -m venv "$venv"
  fi
  say "installing Python packages ($extras) and building the core"
  mapfile -t requirements < <(build_requirements)
  pip install "${requirements[@]}" "cmake>=3.25" ninja
  # No build isolation: the build directory persists and needs the same nanobind each time.
  pip install --no-build-isolation --config-settings build-dir="$cmake" -e ".[$extras]"
  echo "$key" >"$(stamp "$group")"
}

if "$venv"/bin/python -c '' 2>/dev/null && up_to_date && [ -f "$cmake/build.ninja" ]; then
  log=build/ninja$beside.log
  "$venv"/bin/cmake --build "$cmake" >"$log" 2>&1 || { cat "$log" >&2; die "the core does not compile"; }
  grep -q 'no work to do' "$log" || { grep -B1 -A4 'warning:' "$log" >&2 || true; }
  "$venv"/bin/cmake --install "$cmake" --prefix "$(site)" --component Unspecified >>"$log"
  cmp -s "$cmake/passpilot" "$venv"/bin/passpilot || install "$cmake/passpilot" "$venv"/bin/passpilot
else
  make_venv
fi
