#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: tools/proto.sh [FOLDER]
# Writes NAME_pb2.py and NAME_pb2.pyi for each .proto of the package, next to it or below FOLDER.
set -euo pipefail
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
shopt -s nullglob
for proto in {runners/remote,training}/*.proto; do
  made=${1:-.}/${proto%.proto}_pb2
  mkdir -p "${made%/*}"
  .venv/bin/python -m grpc_tools.protoc -I. --descriptor_set_out="$scratch/set" --pyi_out="$scratch" \
    "passpilot/$proto"
  .venv/bin/python tools/proto.py "$scratch/set" > "$made.py"
  {
    echo '# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception'
    echo '# Made from the .proto by tools/proto.sh; a test compares the two.'
    echo '# mypy: disable-error-code=type-arg'
    cat "$scratch/passpilot/${proto%.proto}_pb2.pyi"
  } > "$made.pyi"
done
