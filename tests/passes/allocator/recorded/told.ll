; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
target triple = "x86_64-pc-linux-gnu"

define i64 @told(ptr %0, i64 %1) #0 !dbg !14 {
    #dbg_value(ptr %0, !21, !DIExpression(), !37)
    #dbg_value(i64 %1, !22, !DIExpression(), !37)
    #dbg_value(i64 1, !23, !DIExpression(), !37)
    #dbg_value(i64 2, !24, !DIExpression(), !37)
    #dbg_value(i64 3, !25, !DIExpression(), !37)
    #dbg_value(i64 4, !26, !DIExpression(), !37)
    #dbg_value(i64 5, !27, !DIExpression(), !37)
    #dbg_value(i64 6, !28, !DIExpression(), !37)
    #dbg_value(i64 7, !29, !DIExpression(), !37)
    #dbg_value(i64 8, !30, !DIExpression(), !37)
    #dbg_value(i64 0, !31, !DIExpression(), !38)
  %3 = icmp sgt i64 %1, 0, !dbg !39
  br i1 %3, label %14, label %12, !dbg !40

4:
  %5 = add i64 %33, %31, !dbg !41
  %6 = add i64 %5, %47, !dbg !41
  %7 = add i64 %6, %46, !dbg !41
  %8 = add i64 %7, %39, !dbg !41
  %9 = add i64 %8, %42, !dbg !41
  %10 = add i64 %9, %29, !dbg !41
  %11 = add i64 %10, %27, !dbg !41
  br label %12, !dbg !41

12:
  %13 = phi i64 [ 36, %2 ], [ %11, %4 ], !dbg !42
  ret i64 %13, !dbg !43

14:
  %15 = phi i64 [ %27, %14 ], [ 1, %2 ]
  %16 = phi i64 [ %29, %14 ], [ 2, %2 ]
  %17 = phi i64 [ %48, %14 ], [ 0, %2 ]
  %18 = phi i64 [ %42, %14 ], [ 8, %2 ]
  %19 = phi i64 [ %39, %14 ], [ 7, %2 ]
  %20 = phi i64 [ %46, %14 ], [ 6, %2 ]
  %21 = phi i64 [ %47, %14 ], [ 5, %2 ]
  %22 = phi i64 [ %33, %14 ], [ 4, %2 ]
  %23 = phi i64 [ %31, %14 ], [ 3, %2 ]
    #dbg_value(i64 %15, !23, !DIExpression(), !37)
    #dbg_value(i64 %16, !24, !DIExpression(), !37)
    #dbg_value(i64 %17, !31, !DIExpression(), !38)
    #dbg_value(i64 %18, !30, !DIExpression(), !37)
    #dbg_value(i64 %19, !29, !DIExpression(), !37)
    #dbg_value(i64 %20, !28, !DIExpression(), !37)
    #dbg_value(i64 %21, !27, !DIExpression(), !37)
    #dbg_value(i64 %22, !26, !DIExpression(), !37)
    #dbg_value(i64 %23, !25, !DIExpression(), !37)
  %24 = getelementptr inbounds nuw i64, ptr %0, i64 %17, !dbg !44
  %25 = load i64, ptr %24, align 8, !dbg !44
  %26 = mul nsw i64 %25, %16, !dbg !47
  %27 = add nsw i64 %26, %15, !dbg !48
    #dbg_value(i64 %27, !23, !DIExpression(), !37)
  %28 = add nsw i64 %27, %23, !dbg !49
  %29 = xor i64 %28, %16, !dbg !50
    #dbg_value(i64 %29, !24, !DIExpression(), !37)
  %30 = mul nsw i64 %29, %22, !dbg !51
  %31 = sub nsw i64 %23, %30, !dbg !52
    #dbg_value(i64 %31, !25, !DIExpression(), !37)
  %32 = xor i64 %31, %21, !dbg !53
  %33 = add nsw i64 %32, %22, !dbg !54
    #dbg_value(i64 %33, !26, !DIExpression(), !37)
  %34 = or i64 %33, 1, !dbg !55
  %35 = mul nsw i64 %34, %21, !dbg !56
    #dbg_value(i64 %35, !27, !DIExpression(), !37)
  %36 = sub nsw i64 %35, %19, !dbg !57
  %37 = add nsw i64 %36, %20, !dbg !58
    #dbg_value(i64 %37, !28, !DIExpression(), !37)
  %38 = add nsw i64 %37, %18, !dbg !59
  %39 = xor i64 %38, %19, !dbg !60
    #dbg_value(i64 %39, !29, !DIExpression(), !37)
  %40 = tail call i64 @source(i64 %39), !dbg !61
  %41 = mul nsw i64 %27, %40, !dbg !62
  %42 = add nsw i64 %41, %18, !dbg !63
    #dbg_value(i64 %42, !30, !DIExpression(), !37)
  %43 = xor i64 %31, %42, !dbg !64
    #dbg_value(i64 %43, !33, !DIExpression(), !65)
  %44 = mul nsw i64 %43, %29, !dbg !66
    #dbg_value(i64 %44, !36, !DIExpression(), !65)
  %45 = tail call i64 @source(i64 %44), !dbg !67
  %46 = sub nsw i64 %37, %45, !dbg !68
    #dbg_value(i64 %46, !28, !DIExpression(), !37)
  %47 = add nsw i64 %35, %43, !dbg !69
    #dbg_value(i64 %47, !27, !DIExpression(), !37)
  %48 = add nuw nsw i64 %17, 1, !dbg !70
    #dbg_value(i64 %48, !31, !DIExpression(), !38)
  %49 = icmp eq i64 %48, %1, !dbg !71
  br i1 %49, label %4, label %14, !dbg !72, !llvm.loop !73
}

declare !dbg !77 i64 @source(i64)

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3, !4, !5, !6, !7, !8}

!0 = distinct !DICompileUnit(language: DW_LANG_C11, file: !1, producer: "clang", isOptimized: true, runtimeVersion: 0, emissionKind: FullDebug, splitDebugInlining: false, nameTableKind: None)
!1 = !DIFile(filename: "told.c", directory: "/")
!2 = !{i32 7, !"Dwarf Version", i32 5}
!3 = !{i32 2, !"Debug Info Version", i32 3}
!4 = !{i32 1, !"wchar_size", i32 4}
!5 = !{i32 8, !"PIC Level", i32 2}
!6 = !{i32 7, !"PIE Level", i32 2}
!7 = !{i32 7, !"uwtable", i32 2}
!8 = !{i32 7, !"debug-info-assignment-tracking", i1 true}
!9 = !{!"Debian clang version 22.1.8 (1~deb12u1)"}
!10 = !{!11, !11, i64 0}
!11 = !{!"int", !12, i64 0}
!12 = !{!"omnipotent char", !13, i64 0}
!13 = !{!"Simple C/C++ TBAA"}
!14 = distinct !DISubprogram(name: "told", scope: !1, file: !1, line: 2, type: !15, scopeLine: 2, flags: DIFlagPrototyped | DIFlagAllCallsDescribed, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0, retainedNodes: !20, keyInstructions: true)
!15 = !DISubroutineType(types: !16)
!16 = !{!17, !18, !17}
!17 = !DIBasicType(name: "long", size: 64, encoding: DW_ATE_signed)
!18 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !19, size: 64)
!19 = !DIDerivedType(tag: DW_TAG_const_type, baseType: !17)
!20 = !{!21, !22, !23, !24, !25, !26, !27, !28, !29, !30, !31, !33, !36}
!21 = !DILocalVariable(name: "p", arg: 1, scope: !14, file: !1, line: 2, type: !18)
!22 = !DILocalVariable(name: "n", arg: 2, scope: !14, file: !1, line: 2, type: !17)
!23 = !DILocalVariable(name: "a", scope: !14, file: !1, line: 3, type: !17)
!24 = !DILocalVariable(name: "b", scope: !14, file: !1, line: 3, type: !17)
!25 = !DILocalVariable(name: "c", scope: !14, file: !1, line: 3, type: !17)
!26 = !DILocalVariable(name: "d", scope: !14, file: !1, line: 3, type: !17)
!27 = !DILocalVariable(name: "e", scope: !14, file: !1, line: 3, type: !17)
!28 = !DILocalVariable(name: "f", scope: !14, file: !1, line: 3, type: !17)
!29 = !DILocalVariable(name: "g", scope: !14, file: !1, line: 3, type: !17)
!30 = !DILocalVariable(name: "h", scope: !14, file: !1, line: 3, type: !17)
!31 = !DILocalVariable(name: "x", scope: !32, file: !1, line: 4, type: !17)
!32 = distinct !DILexicalBlock(scope: !14, file: !1, line: 4, column: 3)
!33 = !DILocalVariable(name: "t", scope: !34, file: !1, line: 6, type: !17)
!34 = distinct !DILexicalBlock(scope: !35, file: !1, line: 4, column: 32)
!35 = distinct !DILexicalBlock(scope: !32, file: !1, line: 4, column: 3)
!36 = !DILocalVariable(name: "u", scope: !34, file: !1, line: 6, type: !17)
!37 = !DILocation(line: 0, scope: !14)
!38 = !DILocation(line: 0, scope: !32)
!39 = !DILocation(line: 4, column: 22, scope: !35, atomGroup: 28, atomRank: 1)
!40 = !DILocation(line: 4, column: 3, scope: !32, atomGroup: 29, atomRank: 1)
!41 = !DILocation(line: 9, column: 12, scope: !14)
!42 = !DILocation(line: 9, column: 36, scope: !14, atomGroup: 27, atomRank: 2)
!43 = !DILocation(line: 9, column: 3, scope: !14, atomGroup: 27, atomRank: 1)
!44 = !DILocation(line: 5, column: 10, scope: !34)
!45 = !{!46, !46, i64 0}
!46 = !{!"long", !12, i64 0}
!47 = !DILocation(line: 5, column: 15, scope: !34)
!48 = !DILocation(line: 5, column: 7, scope: !34, atomGroup: 12, atomRank: 2)
!49 = !DILocation(line: 5, column: 27, scope: !34)
!50 = !DILocation(line: 5, column: 22, scope: !34, atomGroup: 13, atomRank: 2)
!51 = !DILocation(line: 5, column: 39, scope: !34)
!52 = !DILocation(line: 5, column: 34, scope: !34, atomGroup: 14, atomRank: 2)
!53 = !DILocation(line: 5, column: 51, scope: !34)
!54 = !DILocation(line: 5, column: 46, scope: !34, atomGroup: 15, atomRank: 2)
!55 = !DILocation(line: 5, column: 63, scope: !34)
!56 = !DILocation(line: 5, column: 58, scope: !34, atomGroup: 16, atomRank: 2)
!57 = !DILocation(line: 5, column: 75, scope: !34)
!58 = !DILocation(line: 5, column: 70, scope: !34, atomGroup: 17, atomRank: 2)
!59 = !DILocation(line: 5, column: 87, scope: !34)
!60 = !DILocation(line: 5, column: 82, scope: !34, atomGroup: 18, atomRank: 2)
!61 = !DILocation(line: 5, column: 97, scope: !34)
!62 = !DILocation(line: 5, column: 107, scope: !34)
!63 = !DILocation(line: 5, column: 94, scope: !34, atomGroup: 19, atomRank: 2)
!64 = !DILocation(line: 6, column: 16, scope: !34, atomGroup: 20, atomRank: 2)
!65 = !DILocation(line: 0, scope: !34)
!66 = !DILocation(line: 6, column: 27, scope: !34, atomGroup: 21, atomRank: 2)
!67 = !DILocation(line: 7, column: 10, scope: !34)
!68 = !DILocation(line: 7, column: 7, scope: !34, atomGroup: 22, atomRank: 2)
!69 = !DILocation(line: 7, column: 23, scope: !34, atomGroup: 23, atomRank: 2)
!70 = !DILocation(line: 4, column: 27, scope: !35, atomGroup: 24, atomRank: 2)
!71 = !DILocation(line: 4, column: 22, scope: !35, atomGroup: 10, atomRank: 1)
!72 = !DILocation(line: 4, column: 3, scope: !32, atomGroup: 11, atomRank: 1)
!73 = distinct !{!73, !74, !75, !76}
!74 = !DILocation(line: 4, column: 3, scope: !32)
!75 = !DILocation(line: 8, column: 3, scope: !32)
!76 = !{!"llvm.loop.mustprogress"}
!77 = !DISubprogram(name: "source", scope: !1, file: !1, line: 1, type: !78, flags: DIFlagPrototyped, spFlags: DISPFlagOptimized)
!78 = !DISubroutineType(types: !79)
!79 = !{!17, !17}
