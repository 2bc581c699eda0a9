# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes IR whose function keeps more values alive than there are registers: python3 crowd.py > crowd.ll"""

COUNT = 40

print("define void @crowd(ptr %p) {")
for i in range(COUNT):
    print(f"  %p{i} = getelementptr i64, ptr %p, i64 {i}")
    print(f"  %v{i} = load volatile i64, ptr %p{i}")
for i in range(COUNT):
    print(f"  store volatile i64 %v{(i * 7) % COUNT}, ptr %p{i}")
print("  ret void\n}")
