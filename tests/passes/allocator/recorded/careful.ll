; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
target triple = "x86_64-pc-linux-gnu"

$__clang_call_terminate = comdat any

@_ZTIl = external constant ptr
@.str = private unnamed_addr constant [12 x i8] c"%f %f %d %p\00", align 1

define i64 @_Z7carefulPKll(ptr %0, i64 %1) personality ptr @__gxx_personality_v0 {
  %3 = icmp sgt i64 %1, 0
  br i1 %3, label %15, label %13

4:
  %5 = add i64 %55, %88
  %6 = add i64 %5, %56
  %7 = add i64 %6, %57
  %8 = add i64 %7, %89
  %9 = add i64 %8, %90
  %10 = add i64 %9, %60
  %11 = add i64 %10, %91
  %12 = add i64 %11, %62
  br label %13

13:
  %14 = phi i64 [ 45, %2 ], [ %12, %4 ]
  ret i64 %14

15:
  %16 = phi i64 [ %62, %87 ], [ 1, %2 ]
  %17 = phi i64 [ %92, %87 ], [ 0, %2 ]
  %18 = phi i64 [ %91, %87 ], [ 9, %2 ]
  %19 = phi i64 [ %60, %87 ], [ 8, %2 ]
  %20 = phi i64 [ %90, %87 ], [ 7, %2 ]
  %21 = phi i64 [ %89, %87 ], [ 6, %2 ]
  %22 = phi i64 [ %57, %87 ], [ 5, %2 ]
  %23 = phi i64 [ %56, %87 ], [ 4, %2 ]
  %24 = phi i64 [ %55, %87 ], [ 3, %2 ]
  %25 = phi i64 [ %88, %87 ], [ 2, %2 ]
  %26 = getelementptr inbounds nuw i64, ptr %0, i64 %17
  %27 = load i64, ptr %26, align 8
  %28 = invoke i64 @_Z6sourcel(i64 %27)
          to label %29 unwind label %39

29:
  %30 = mul nsw i64 %28, %25
  %31 = add nsw i64 %30, %16
  %32 = add nsw i64 %31, %24
  %33 = xor i64 %32, %25
  %34 = mul nsw i64 %33, %23
  %35 = sub nsw i64 %24, %34
  %36 = icmp sgt i64 %31, 100
  br i1 %36, label %37, label %97

37:
  %38 = tail call ptr @__cxa_allocate_exception(i64 8)
  store i64 %31, ptr %38, align 16
  invoke void @__cxa_throw(ptr %38, ptr @_ZTIl, ptr null)
          to label %143 unwind label %39

39:
  %40 = phi i64 [ %33, %37 ], [ %33, %97 ], [ %25, %15 ]
  %41 = phi i64 [ %35, %37 ], [ %35, %97 ], [ %24, %15 ]
  %42 = phi i64 [ %31, %37 ], [ %31, %97 ], [ %16, %15 ]
  %43 = landingpad { ptr, i32 }
          catch ptr @_ZTIl
          catch ptr null
  %44 = extractvalue { ptr, i32 } %43, 0
  %45 = extractvalue { ptr, i32 } %43, 1
  %46 = tail call i32 @llvm.eh.typeid.for.p0(ptr @_ZTIl)
  %47 = icmp eq i32 %45, %46
  %48 = tail call ptr @__cxa_begin_catch(ptr %44)
  br i1 %47, label %49, label %94

49:
  %50 = load i64, ptr %48, align 8
  %51 = add nsw i64 %50, %18
  %52 = sub nsw i64 %22, %41
  tail call void @__cxa_end_catch()
  br label %53

53:
  %54 = phi i64 [ %40, %49 ], [ %33, %99 ]
  %55 = phi i64 [ %41, %49 ], [ %35, %99 ]
  %56 = phi i64 [ %23, %49 ], [ %101, %99 ]
  %57 = phi i64 [ %52, %49 ], [ %103, %99 ]
  %58 = phi i64 [ %21, %49 ], [ %105, %99 ]
  %59 = phi i64 [ %20, %49 ], [ %107, %99 ]
  %60 = phi i64 [ %19, %49 ], [ %109, %99 ]
  %61 = phi i64 [ %51, %49 ], [ %18, %99 ]
  %62 = phi i64 [ %42, %49 ], [ %31, %99 ]
  %63 = load i64, ptr %26, align 8
  %64 = icmp sgt i64 %63, 0
  br i1 %64, label %65, label %87

65:
  %66 = and i64 %63, 1
  %67 = icmp eq i64 %63, 1
  br i1 %67, label %72, label %68

68:
  %69 = and i64 %63, 9223372036854775806
  br label %113

70:
  %71 = icmp eq i64 %66, 0
  br i1 %71, label %87, label %72

72:
  %73 = phi i64 [ 0, %65 ], [ %137, %70 ]
  %74 = phi i64 [ %61, %65 ], [ %130, %70 ]
  %75 = phi i64 [ %59, %65 ], [ %134, %70 ]
  %76 = phi i64 [ %58, %65 ], [ %132, %70 ]
  %77 = phi i64 [ %54, %65 ], [ %136, %70 ]
  %78 = icmp ne i64 %66, 0
  tail call void @llvm.assume(i1 %78)
  %79 = add nsw i64 %73, %60
  %80 = xor i64 %79, %74
  %81 = mul nsw i64 %80, %62
  %82 = add nsw i64 %81, %76
  %83 = xor i64 %82, %55
  %84 = sub nsw i64 %75, %83
  %85 = mul nsw i64 %84, %57
  %86 = add nsw i64 %85, %77
  br label %87

87:
  %88 = phi i64 [ %54, %53 ], [ %136, %70 ], [ %86, %72 ]
  %89 = phi i64 [ %58, %53 ], [ %132, %70 ], [ %82, %72 ]
  %90 = phi i64 [ %59, %53 ], [ %134, %70 ], [ %84, %72 ]
  %91 = phi i64 [ %61, %53 ], [ %130, %70 ], [ %80, %72 ]
  %92 = add nuw nsw i64 %17, 1
  %93 = icmp eq i64 %92, %1
  br i1 %93, label %4, label %15

94:
  %95 = invoke i64 @_Z6sourcel(i64 %40)
          to label %96 unwind label %110

96:
  invoke void @__cxa_rethrow()
          to label %144 unwind label %110

97:
  %98 = invoke i64 @_Z6sourcel(i64 %35)
          to label %99 unwind label %39

99:
  %100 = xor i64 %98, %22
  %101 = add nsw i64 %100, %23
  %102 = or i64 %101, 1
  %103 = mul nsw i64 %102, %22
  %104 = sub nsw i64 %103, %20
  %105 = add nsw i64 %104, %21
  %106 = add nsw i64 %105, %19
  %107 = xor i64 %106, %20
  %108 = mul nsw i64 %107, %18
  %109 = add nsw i64 %108, %19
  br label %53

110:
  %111 = landingpad { ptr, i32 }
          cleanup
  invoke void @__cxa_end_catch()
          to label %112 unwind label %140

112:
  resume { ptr, i32 } %111

113:
  %114 = phi i64 [ 0, %68 ], [ %137, %113 ]
  %115 = phi i64 [ %61, %68 ], [ %130, %113 ]
  %116 = phi i64 [ %59, %68 ], [ %134, %113 ]
  %117 = phi i64 [ %58, %68 ], [ %132, %113 ]
  %118 = phi i64 [ %54, %68 ], [ %136, %113 ]
  %119 = phi i64 [ 0, %68 ], [ %138, %113 ]
  %120 = add nsw i64 %114, %60
  %121 = xor i64 %120, %115
  %122 = mul nsw i64 %121, %62
  %123 = add nsw i64 %122, %117
  %124 = xor i64 %123, %55
  %125 = sub nsw i64 %116, %124
  %126 = mul nsw i64 %125, %57
  %127 = add nsw i64 %126, %118
  %128 = or disjoint i64 %114, 1
  %129 = add nsw i64 %128, %60
  %130 = xor i64 %129, %121
  %131 = mul nsw i64 %130, %62
  %132 = add nsw i64 %131, %123
  %133 = xor i64 %132, %55
  %134 = sub nsw i64 %125, %133
  %135 = mul nsw i64 %134, %57
  %136 = add nsw i64 %135, %127
  %137 = add nuw nsw i64 %114, 2
  %138 = add i64 %119, 2
  %139 = icmp eq i64 %138, %69
  br i1 %139, label %70, label %113

140:
  %141 = landingpad { ptr, i32 }
          catch ptr null
  %142 = extractvalue { ptr, i32 } %141, 0
  tail call void @__clang_call_terminate(ptr %142)
  unreachable

143:
  unreachable

144:
  unreachable
}

declare i64 @_Z6sourcel(i64)

declare i32 @__gxx_personality_v0(...)

declare ptr @__cxa_allocate_exception(i64)

declare void @__cxa_throw(ptr, ptr, ptr)

declare i32 @llvm.eh.typeid.for.p0(ptr)

declare ptr @__cxa_begin_catch(ptr)

declare void @__cxa_rethrow()

declare void @__cxa_end_catch()

define linkonce_odr hidden void @__clang_call_terminate(ptr %0) comdat {
  %2 = tail call ptr @__cxa_begin_catch(ptr %0)
  tail call void @_ZSt9terminatev()
  unreachable
}

declare void @_ZSt9terminatev()

define double @_Z4manyPdi(ptr %0, i32 %1) {
  %3 = icmp sgt i32 %1, 0
  br i1 %3, label %4, label %9

4:
  %5 = zext nneg i32 %1 to i64
  br label %11

6:
  %7 = fadd double %42, %43
  %8 = fadd double %7, %44
  br label %9

9:
  %10 = phi double [ 3.000000e+00, %2 ], [ %8, %6 ]
  ret double %10

11:
  %12 = phi i64 [ 0, %4 ], [ %45, %41 ]
  %13 = phi double [ 2.000000e+00, %4 ], [ %44, %41 ]
  %14 = phi double [ 1.000000e+00, %4 ], [ %43, %41 ]
  %15 = phi double [ 0.000000e+00, %4 ], [ %42, %41 ]
  %16 = getelementptr inbounds nuw double, ptr %0, i64 %12
  %17 = load double, ptr %16, align 8
  %18 = tail call double @llvm.fmuladd.f64(double %17, double %14, double %15)
  %19 = fneg double %18
  %20 = tail call double @llvm.fmuladd.f64(double %19, double %13, double %14)
  %21 = fcmp ogt double %18, 1.000000e+09
  br i1 %21, label %25, label %22

22:
  %23 = fadd double %13, %18
  %24 = trunc nuw nsw i64 %12 to i32
  br label %29

25:
  %26 = trunc nuw nsw i64 %12 to i32
  tail call void (ptr, ...) @_Z4sinkPKcz(ptr @.str, double %18, double %20, i32 %26, ptr %0)
  %27 = tail call i64 @_Z6sourcel(i64 %12)
  %28 = sitofp i64 %27 to double
  br label %29

29:
  %30 = phi i32 [ %24, %22 ], [ %26, %25 ]
  %31 = phi double [ %23, %22 ], [ %28, %25 ]
  %32 = and i32 %30, 7
  switch i32 %32, label %40 [
    i32 0, label %33
    i32 1, label %35
    i32 3, label %37
    i32 5, label %39
  ]

33:
  %34 = fmul double %18, %20
  br label %41

35:
  %36 = fmul double %20, %31
  br label %41

37:
  %38 = fsub double %31, %18
  br label %41

39:
  store double %31, ptr %16, align 8
  br label %41

40:
  store double %18, ptr %16, align 8
  br label %41

41:
  %42 = phi double [ %18, %40 ], [ %34, %33 ], [ %18, %35 ], [ %18, %37 ], [ %18, %39 ]
  %43 = phi double [ %20, %40 ], [ %20, %33 ], [ %36, %35 ], [ %20, %37 ], [ %20, %39 ]
  %44 = phi double [ %31, %40 ], [ %31, %33 ], [ %31, %35 ], [ %38, %37 ], [ %31, %39 ]
  %45 = add nuw nsw i64 %12, 1
  %46 = icmp eq i64 %45, %5
  br i1 %46, label %6, label %11
}

declare double @llvm.fmuladd.f64(double, double, double)

declare void @_Z4sinkPKcz(ptr, ...)

declare void @llvm.assume(i1)
