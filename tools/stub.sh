#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: tools/stub.sh [FILE]
# Writes the type stub of the built native core to FILE (default plugin/_core.pyi).
set -euo pipefail
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
.venv/bin/python -m nanobind.stubgen -q -m passpilot.plugin._core -o "$scratch/core.pyi"
{
  echo '# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception'
  echo '# Made from the built core by tools/stub.sh; a test compares the two.'
  cat "$scratch/core.pyi"
} > "${1:-plugin/_core.pyi}"
