# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The messages of passpilot/runners/remote/advisor.proto, made from it by tools/proto.sh; a test compares the two."""

from google.protobuf.descriptor_pool import Default
from google.protobuf.message_factory import GetMessageClass

DESCRIPTOR = Default().AddSerializedFile(
    b'\n&passpilot/runners/remote/advisor.proto\x12\x0cpasspi'
    b'lot.v1"\xab\x01\n\x08Question\x12+\n\x05hello\x18\x01 \x01(\x0b2\x13.passpilot.v'
    b'1.HelloH\x00R\x05hello\x12\x16\n\x05frame\x18\x02 \x01(\x0cH\x00R\x05frame\x12\x1a\n\x07cont'
    b'ext\x18\x03 \x01(\tH\x00R\x07context\x126\n\x07changes\x18\x04 \x01(\x0b2\x1a.passpilo'
    b't.v1.FrameChangesH\x00R\x07changesB\x06\n\x04kind"=\n\x0cFrameCha'
    b'nges\x12-\n\x05parts\x18\x01 \x03(\x0b2\x17.passpilot.v1.FramePartR\x05pa'
    b'rts"5\n\tFramePart\x12\x14\n\x05start\x18\x01 \x01(\x04R\x05start\x12\x12\n\x04data\x18\x02'
    b' \x01(\x0cR\x04data"\xd6\x01\n\x06Answer\x121\n\x07welcome\x18\x01 \x01(\x0b2\x15.passpil'
    b'ot.v1.WelcomeH\x00R\x07welcome\x12\x1a\n\x07integer\x18\x02 \x01(\x10H\x00R\x07int'
    b'eger\x12\x18\n\x06number\x18\x03 \x01(\x01H\x00R\x06number\x121\n\x07failure\x18\x04 \x01(\x0b2'
    b'\x15.passpilot.v1.FailureH\x00R\x07failure\x12(\n\x04done\x18\x05 \x01(\x0b2'
    b'\x12.passpilot.v1.DoneH\x00R\x04doneB\x06\n\x04kind"\xa1\x01\n\x05Hello\x12\x1c\n'
    b'\tpasspilot\x18\x01 \x01(\x05R\tpasspilot\x12\x14\n\x05point\x18\x02 \x01(\tR\x05poin'
    b't\x122\n\x07offered\x18\x03 \x03(\x0b2\x18.passpilot.v1.TensorSpecR\x07of'
    b'fered\x120\n\x06advice\x18\x04 \x01(\x0b2\x18.passpilot.v1.TensorSpecR'
    b'\x06advice"^\n\nTensorSpec\x12\x12\n\x04name\x18\x01 \x01(\tR\x04name\x12\x12\n\x04typ'
    b'e\x18\x02 \x01(\tR\x04type\x12\x12\n\x04port\x18\x03 \x01(\x05R\x04port\x12\x14\n\x05shape\x18\x04 \x03(\x05'
    b'R\x05shape"S\n\x07Welcome\x12\x16\n\x06inputs\x18\x01 \x03(\tR\x06inputs\x12\x16\n\x06ru'
    b'nner\x18\x02 \x01(\tR\x06runner\x12\x18\n\x07changes\x18\x03 \x01(\x08R\x07changes"3\n\x07'
    b'Failure\x12\x14\n\x05error\x18\x01 \x01(\tR\x05error\x12\x12\n\x04kind\x18\x02 \x01(\tR\x04kin'
    b'd"\x06\n\x04Done2E\n\x07Advisor\x12:\n\x06Advise\x12\x16.passpilot.v1.Qu'
    b'estion\x1a\x14.passpilot.v1.Answer(\x010\x01b\x06proto3'
)
Question = GetMessageClass(DESCRIPTOR.message_types_by_name["Question"])
FrameChanges = GetMessageClass(DESCRIPTOR.message_types_by_name["FrameChanges"])
FramePart = GetMessageClass(DESCRIPTOR.message_types_by_name["FramePart"])
Answer = GetMessageClass(DESCRIPTOR.message_types_by_name["Answer"])
Hello = GetMessageClass(DESCRIPTOR.message_types_by_name["Hello"])
TensorSpec = GetMessageClass(DESCRIPTOR.message_types_by_name["TensorSpec"])
Welcome = GetMessageClass(DESCRIPTOR.message_types_by_name["Welcome"])
Failure = GetMessageClass(DESCRIPTOR.message_types_by_name["Failure"])
Done = GetMessageClass(DESCRIPTOR.message_types_by_name["Done"])
