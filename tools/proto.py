# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints the Python module for the only .proto in a descriptor set; used by tools/proto.sh.

Modules written by protoc refuse protobuf runtimes older than protoc. Ours hold the same descriptor but get
their messages through public functions that every runtime since 5.27 has.
"""

from __future__ import annotations

import sys
from pathlib import Path

from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

WIDTH = 48
"""Descriptor bytes per line of the module."""


def module(file: FileDescriptorProto) -> str:
    """The module's text. Each imported .proto becomes an import of its module.

    Raises:
        SystemExit: for an enum outside of any message.
    """
    if file.enum_type:
        raise SystemExit(f"{file.name}: expected each enum inside a message, got {file.enum_type[0].name}")
    data = file.SerializeToString()
    rows = "\n".join(f"    {data[at : at + WIDTH]!r}" for at in range(0, len(data), WIDTH))
    imports = [f"import {name.removesuffix('.proto').replace('/', '.')}_pb2" for name in file.dependency]
    names = [message.name for message in file.message_type]
    messages = [f'{name} = GetMessageClass(DESCRIPTOR.message_types_by_name["{name}"])' for name in names]
    return "\n".join(
        [
            "# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception",
            f'"""The messages of {file.name}, made from it by tools/proto.sh; a test compares the two."""',
            "",
            "from google.protobuf.descriptor_pool import Default",
            "from google.protobuf.message_factory import GetMessageClass",
            *imports,
            "",
            f"DESCRIPTOR = Default().AddSerializedFile(\n{rows}\n)",
            *messages,
        ]
    )


if __name__ == "__main__":
    (only,) = FileDescriptorSet.FromString(Path(sys.argv[1]).read_bytes()).file
    print(module(only))
