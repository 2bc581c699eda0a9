# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The messages of passpilot/training/compiler.proto, made from it by tools/proto.sh; a test compares the two."""

from google.protobuf.descriptor_pool import Default
from google.protobuf.message_factory import GetMessageClass
import passpilot.runners.remote.advisor_pb2

DESCRIPTOR = Default().AddSerializedFile(
    b'\n!passpilot/training/compiler.proto\x12\x0cpasspilot.v'
    b'1\x1a&passpilot/runners/remote/advisor.proto"s\n\x0cAge'
    b'ntMessage\x12+\n\x05start\x18\x01 \x01(\x0b2\x13.passpilot.v1.StartH\x00R'
    b'\x05start\x12.\n\x06action\x18\x02 \x01(\x0b2\x14.passpilot.v1.ActionH\x00R\x06'
    b'actionB\x06\n\x04kind"\x83\x02\n\x0fCompilerMessage\x12"\n\x0bobservatio'
    b'n\x18\x01 \x01(\x0cH\x00R\x0bobservation\x12.\n\x06result\x18\x02 \x01(\x0b2\x14.passpil'
    b'ot.v1.ResultH\x00R\x06result\x121\n\x07failure\x18\x03 \x01(\x0b2\x15.passpi'
    b'lot.v1.RefusalH\x00R\x07failure\x12/\n\x07episode\x18\x04 \x01(\x0b2\x15.pas'
    b'spilot.v1.EpisodeR\x07episode\x12\x14\n\x05point\x18\x05 \x01(\tR\x05point'
    b'\x12\x1a\n\x08progress\x18\x06 \x01(\x01R\x08progressB\x06\n\x04kind"\xae\x03\n\x05Start\x12\x14'
    b'\n\x04code\x18\x01 \x01(\x0cH\x00R\x04code\x12\x14\n\x04path\x18\x02 \x01(\tH\x00R\x04path\x12\x14\n\x05po'
    b'int\x18\x03 \x01(\tR\x05point\x12\x1a\n\x08pipeline\x18\x04 \x01(\tR\x08pipeline\x12 \n\t'
    b'opt_level\x18\x05 \x01(\x05H\x01R\x08optLevel\x88\x01\x01\x12\x1a\n\x08features\x18\x06 \x03(\t'
    b'R\x08features\x12\x16\n\x06reward\x18\x07 \x01(\tR\x06reward\x12\x1a\n\x08function\x18\x08'
    b' \x01(\tR\x08function\x12+\n\x02at\x18\t \x03(\x0b2\x1b.passpilot.v1.Start.'
    b"AtEntryR\x02at\x12'\n\x04also\x18\n \x03(\x0b2\x13.passpilot.v1.AskedR\x04"
    b'also\x12\x16\n\x06object\x18\x0b \x01(\x08R\x06object\x12\x18\n\x07partial\x18\x0c \x01(\x08R\x07p'
    b'artial\x1a5\n\x07AtEntry\x12\x10\n\x03key\x18\x01 \x01(\tR\x03key\x12\x14\n\x05value\x18\x02 \x01'
    b'(\tR\x05value:\x028\x01B\x08\n\x06moduleB\x0c\n\n_opt_level"9\n\x05Asked\x12\x14'
    b'\n\x05point\x18\x01 \x01(\tR\x05point\x12\x1a\n\x08features\x18\x02 \x03(\tR\x08features'
    b'"G\n\x06Action\x12\x1a\n\x07integer\x18\x01 \x01(\x12H\x00R\x07integer\x12\x18\n\x06number'
    b'\x18\x02 \x01(\x01H\x00R\x06numberB\x07\n\x05value"\x83\x02\n\x07Episode\x122\n\x07tensors'
    b'\x18\x01 \x03(\x0b2\x18.passpilot.v1.TensorSpecR\x07tensors\x120\n\x06adv'
    b'ice\x18\x02 \x01(\x0b2\x18.passpilot.v1.TensorSpecR\x06advice\x12(\n\x04f'
    b'lag\x18\x03 \x01(\x0b2\x12.passpilot.v1.FlagH\x00R\x04flag\x12.\n\x06choice\x18'
    b'\x04 \x01(\x0b2\x14.passpilot.v1.ChoiceH\x00R\x06choice\x12.\n\x06number\x18'
    b'\x05 \x01(\x0b2\x14.passpilot.v1.NumberH\x00R\x06numberB\x08\n\x06domain"'
    b'\x06\n\x04Flag"2\n\x06Choice\x12\x14\n\x05count\x18\x01 \x01(\x05R\x05count\x12\x12\n\x04mask\x18'
    b'\x02 \x01(\tR\x04mask".\n\x06Number\x12\x10\n\x03low\x18\x01 \x01(\x01R\x03low\x12\x12\n\x04high\x18'
    b'\x02 \x01(\x01R\x04high"\xbf\x01\n\x06Result\x12\x16\n\x06reward\x18\x01 \x01(\x01R\x06reward\x12\x19'
    b'\n\x05value\x18\x02 \x01(\x01H\x00R\x05value\x88\x01\x01\x12\x1f\n\x08baseline\x18\x03 \x01(\x01H\x01R\x08b'
    b'aseline\x88\x01\x01\x12\x1c\n\tdecisions\x18\x04 \x01(\x03R\tdecisions\x12\x14\n\x05note'
    b's\x18\x05 \x03(\tR\x05notes\x12\x16\n\x06object\x18\x06 \x01(\x0cR\x06objectB\x08\n\x06_value'
    b'B\x0b\n\t_baseline"P\n\x07Refusal\x12/\n\x07failure\x18\x01 \x01(\x0b2\x15.pass'
    b'pilot.v1.FailureR\x07failure\x12\x14\n\x05retry\x18\x02 \x01(\x08R\x05retry2'
    b'U\n\x08Compiler\x12I\n\x08Episodes\x12\x1a.passpilot.v1.AgentMess'
    b'age\x1a\x1d.passpilot.v1.CompilerMessage(\x010\x01b\x06proto3'
)
AgentMessage = GetMessageClass(DESCRIPTOR.message_types_by_name["AgentMessage"])
CompilerMessage = GetMessageClass(DESCRIPTOR.message_types_by_name["CompilerMessage"])
Start = GetMessageClass(DESCRIPTOR.message_types_by_name["Start"])
Asked = GetMessageClass(DESCRIPTOR.message_types_by_name["Asked"])
Action = GetMessageClass(DESCRIPTOR.message_types_by_name["Action"])
Episode = GetMessageClass(DESCRIPTOR.message_types_by_name["Episode"])
Flag = GetMessageClass(DESCRIPTOR.message_types_by_name["Flag"])
Choice = GetMessageClass(DESCRIPTOR.message_types_by_name["Choice"])
Number = GetMessageClass(DESCRIPTOR.message_types_by_name["Number"])
Result = GetMessageClass(DESCRIPTOR.message_types_by_name["Result"])
Refusal = GetMessageClass(DESCRIPTOR.message_types_by_name["Refusal"])
