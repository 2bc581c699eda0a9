# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The messages of passpilot/training/compiler.proto, made from it by tools/proto.sh; a test compares the two."""

from google.protobuf.descriptor_pool import Default
from google.protobuf.message_factory import GetMessageClass
import passpilot.runners.advisor_pb2

DESCRIPTOR = Default().AddSerializedFile(
    b'\n!passpilot/training/compiler.proto\x12\x0cpasspilot.v'
    b'1\x1a\x1fpasspilot/runners/advisor.proto"s\n\x0cAgentMessa'
    b'ge\x12+\n\x05start\x18\x01 \x01(\x0b2\x13.passpilot.v1.StartH\x00R\x05start\x12'
    b'.\n\x06action\x18\x02 \x01(\x0b2\x14.passpilot.v1.ActionH\x00R\x06actionB'
    b'\x06\n\x04kind"\xd1\x01\n\x0fCompilerMessage\x12"\n\x0bobservation\x18\x01 \x01(\x0c'
    b'H\x00R\x0bobservation\x12.\n\x06result\x18\x02 \x01(\x0b2\x14.passpilot.v1.R'
    b'esultH\x00R\x06result\x121\n\x07failure\x18\x03 \x01(\x0b2\x15.passpilot.v1.'
    b'RefusalH\x00R\x07failure\x12/\n\x07episode\x18\x04 \x01(\x0b2\x15.passpilot.'
    b'v1.EpisodeR\x07episodeB\x06\n\x04kind"\xef\x01\n\x05Start\x12\x14\n\x04code\x18\x01 '
    b'\x01(\x0cH\x00R\x04code\x12\x14\n\x04path\x18\x02 \x01(\tH\x00R\x04path\x12\x14\n\x05point\x18\x03 \x01(\t'
    b'R\x05point\x12\x1a\n\x08pipeline\x18\x04 \x01(\tR\x08pipeline\x12 \n\topt_level'
    b'\x18\x05 \x01(\x05H\x01R\x08optLevel\x88\x01\x01\x12\x1a\n\x08features\x18\x06 \x03(\tR\x08feature'
    b's\x12\x16\n\x06reward\x18\x07 \x01(\tR\x06reward\x12\x1a\n\x08function\x18\x08 \x01(\tR\x08fun'
    b'ctionB\x08\n\x06moduleB\x0c\n\n_opt_level"G\n\x06Action\x12\x1a\n\x07integ'
    b'er\x18\x01 \x01(\x12H\x00R\x07integer\x12\x18\n\x06number\x18\x02 \x01(\x01H\x00R\x06numberB\x07\n'
    b'\x05value"\x83\x02\n\x07Episode\x122\n\x07tensors\x18\x01 \x03(\x0b2\x18.passpilot.'
    b'v1.TensorSpecR\x07tensors\x120\n\x06advice\x18\x02 \x01(\x0b2\x18.passpil'
    b'ot.v1.TensorSpecR\x06advice\x12(\n\x04flag\x18\x03 \x01(\x0b2\x12.passpil'
    b'ot.v1.FlagH\x00R\x04flag\x12.\n\x06choice\x18\x04 \x01(\x0b2\x14.passpilot.v'
    b'1.ChoiceH\x00R\x06choice\x12.\n\x06number\x18\x05 \x01(\x0b2\x14.passpilot.v'
    b'1.NumberH\x00R\x06numberB\x08\n\x06domain"\x06\n\x04Flag"2\n\x06Choice\x12\x14'
    b'\n\x05count\x18\x01 \x01(\x05R\x05count\x12\x12\n\x04mask\x18\x02 \x01(\tR\x04mask".\n\x06Numb'
    b'er\x12\x10\n\x03low\x18\x01 \x01(\x01R\x03low\x12\x12\n\x04high\x18\x02 \x01(\x01R\x04high"\xa7\x01\n\x06Res'
    b'ult\x12\x16\n\x06reward\x18\x01 \x01(\x01R\x06reward\x12\x19\n\x05value\x18\x02 \x01(\x01H\x00R\x05va'
    b'lue\x88\x01\x01\x12\x1f\n\x08baseline\x18\x03 \x01(\x01H\x01R\x08baseline\x88\x01\x01\x12\x1c\n\tdecis'
    b'ions\x18\x04 \x01(\x03R\tdecisions\x12\x14\n\x05notes\x18\x05 \x03(\tR\x05notesB\x08\n\x06_'
    b'valueB\x0b\n\t_baseline"P\n\x07Refusal\x12/\n\x07failure\x18\x01 \x01(\x0b2\x15'
    b'.passpilot.v1.FailureR\x07failure\x12\x14\n\x05retry\x18\x02 \x01(\x08R\x05r'
    b'etry2U\n\x08Compiler\x12I\n\x08Episodes\x12\x1a.passpilot.v1.Agen'
    b'tMessage\x1a\x1d.passpilot.v1.CompilerMessage(\x010\x01b\x06pro'
    b'to3'
)
AgentMessage = GetMessageClass(DESCRIPTOR.message_types_by_name["AgentMessage"])
CompilerMessage = GetMessageClass(DESCRIPTOR.message_types_by_name["CompilerMessage"])
Start = GetMessageClass(DESCRIPTOR.message_types_by_name["Start"])
Action = GetMessageClass(DESCRIPTOR.message_types_by_name["Action"])
Episode = GetMessageClass(DESCRIPTOR.message_types_by_name["Episode"])
Flag = GetMessageClass(DESCRIPTOR.message_types_by_name["Flag"])
Choice = GetMessageClass(DESCRIPTOR.message_types_by_name["Choice"])
Number = GetMessageClass(DESCRIPTOR.message_types_by_name["Number"])
Result = GetMessageClass(DESCRIPTOR.message_types_by_name["Result"])
Refusal = GetMessageClass(DESCRIPTOR.message_types_by_name["Refusal"])
