# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The messages of passpilot/runners/remote/advisor.proto, made from it by tools/proto.sh; a test compares the two."""

from google.protobuf.descriptor_pool import Default
from google.protobuf.message_factory import GetMessageClass

DESCRIPTOR = Default().AddSerializedFile(
    b'\n&passpilot/runners/remote/advisor.proto\x12\x0cpasspi'
    b'lot.v1"s\n\x08Question\x12+\n\x05hello\x18\x01 \x01(\x0b2\x13.passpilot.v1'
    b'.HelloH\x00R\x05hello\x12\x16\n\x05frame\x18\x02 \x01(\x0cH\x00R\x05frame\x12\x1a\n\x07conte'
    b'xt\x18\x03 \x01(\tH\x00R\x07contextB\x06\n\x04kind"\xd6\x01\n\x06Answer\x121\n\x07welcom'
    b'e\x18\x01 \x01(\x0b2\x15.passpilot.v1.WelcomeH\x00R\x07welcome\x12\x1a\n\x07int'
    b'eger\x18\x02 \x01(\x10H\x00R\x07integer\x12\x18\n\x06number\x18\x03 \x01(\x01H\x00R\x06number\x12'
    b'1\n\x07failure\x18\x04 \x01(\x0b2\x15.passpilot.v1.FailureH\x00R\x07failu'
    b're\x12(\n\x04done\x18\x05 \x01(\x0b2\x12.passpilot.v1.DoneH\x00R\x04doneB\x06\n\x04'
    b'kind"\xa1\x01\n\x05Hello\x12\x1c\n\tpasspilot\x18\x01 \x01(\x05R\tpasspilot\x12\x14\n\x05'
    b'point\x18\x02 \x01(\tR\x05point\x122\n\x07offered\x18\x03 \x03(\x0b2\x18.passpilot.'
    b'v1.TensorSpecR\x07offered\x120\n\x06advice\x18\x04 \x01(\x0b2\x18.passpil'
    b'ot.v1.TensorSpecR\x06advice"^\n\nTensorSpec\x12\x12\n\x04name\x18\x01'
    b' \x01(\tR\x04name\x12\x12\n\x04type\x18\x02 \x01(\tR\x04type\x12\x12\n\x04port\x18\x03 \x01(\x05R\x04po'
    b'rt\x12\x14\n\x05shape\x18\x04 \x03(\x05R\x05shape"9\n\x07Welcome\x12\x16\n\x06inputs\x18\x01 '
    b'\x03(\tR\x06inputs\x12\x16\n\x06runner\x18\x02 \x01(\tR\x06runner"3\n\x07Failure\x12\x14'
    b'\n\x05error\x18\x01 \x01(\tR\x05error\x12\x12\n\x04kind\x18\x02 \x01(\tR\x04kind"\x06\n\x04Done'
    b'2E\n\x07Advisor\x12:\n\x06Advise\x12\x16.passpilot.v1.Question\x1a\x14.'
    b'passpilot.v1.Answer(\x010\x01b\x06proto3'
)
Question = GetMessageClass(DESCRIPTOR.message_types_by_name["Question"])
Answer = GetMessageClass(DESCRIPTOR.message_types_by_name["Answer"])
Hello = GetMessageClass(DESCRIPTOR.message_types_by_name["Hello"])
TensorSpec = GetMessageClass(DESCRIPTOR.message_types_by_name["TensorSpec"])
Welcome = GetMessageClass(DESCRIPTOR.message_types_by_name["Welcome"])
Failure = GetMessageClass(DESCRIPTOR.message_types_by_name["Failure"])
Done = GetMessageClass(DESCRIPTOR.message_types_by_name["Done"])
