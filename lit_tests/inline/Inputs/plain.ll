; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; No triple, no data layout, debug locations.
define i32 @callee(i32 %x) !dbg !4 {
  %y = mul i32 %x, %x, !dbg !7
  ret i32 %y, !dbg !7
}

define i32 @caller(i32 %x) !dbg !8 {
  %y = call i32 @callee(i32 %x), !dbg !9
  ret i32 %y, !dbg !9
}

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, emissionKind: FullDebug)
!1 = !DIFile(filename: "plain.c", directory: "/src")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !{i32 7, !"Dwarf Version", i32 5}
!4 = distinct !DISubprogram(name: "callee", file: !1, line: 1, type: !5, unit: !0, spFlags: DISPFlagDefinition)
!5 = !DISubroutineType(types: !6)
!6 = !{null}
!7 = !DILocation(line: 2, column: 3, scope: !4)
!8 = distinct !DISubprogram(name: "caller", file: !1, line: 5, type: !5, unit: !0, spFlags: DISPFlagDefinition)
!9 = !DILocation(line: 6, column: 10, scope: !8)
