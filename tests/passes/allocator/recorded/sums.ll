; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
target triple = "x86_64-pc-linux-gnu"

@table = global [64 x i64] zeroinitializer, align 16
@.str = private unnamed_addr constant [4 x i8] c"%f\0A\00", align 1
@.str.1 = private unnamed_addr constant [11 x i8] c"%lx %.17g\0A\00", align 1

define i64 @sums(ptr %0, i64 %1) {
  %3 = icmp sgt i64 %1, 0
  br i1 %3, label %19, label %17

4:
  %5 = add nsw i64 %39, %82
  %6 = add nsw i64 %5, %83
  %7 = add nsw i64 %6, %43
  %8 = add nsw i64 %7, %84
  %9 = add nsw i64 %8, %47
  %10 = add nsw i64 %9, %49
  %11 = add nsw i64 %10, %51
  %12 = add nsw i64 %11, %53
  %13 = add nsw i64 %12, %55
  %14 = add nsw i64 %13, %57
  %15 = add nsw i64 %14, %59
  %16 = add nsw i64 %15, %61
  br label %17

17:
  %18 = phi i64 [ 91, %2 ], [ %16, %4 ]
  ret i64 %18

19:
  %20 = phi i64 [ %85, %81 ], [ 0, %2 ]
  %21 = phi i64 [ %61, %81 ], [ 13, %2 ]
  %22 = phi i64 [ %59, %81 ], [ 12, %2 ]
  %23 = phi i64 [ %57, %81 ], [ 11, %2 ]
  %24 = phi i64 [ %55, %81 ], [ 10, %2 ]
  %25 = phi i64 [ %53, %81 ], [ 9, %2 ]
  %26 = phi i64 [ %51, %81 ], [ 8, %2 ]
  %27 = phi i64 [ %49, %81 ], [ 7, %2 ]
  %28 = phi i64 [ %47, %81 ], [ 6, %2 ]
  %29 = phi i64 [ %84, %81 ], [ 5, %2 ]
  %30 = phi i64 [ %43, %81 ], [ 4, %2 ]
  %31 = phi i64 [ %83, %81 ], [ 3, %2 ]
  %32 = phi i64 [ %39, %81 ], [ 2, %2 ]
  %33 = phi i64 [ %82, %81 ], [ 1, %2 ]
  %34 = getelementptr inbounds nuw i64, ptr %0, i64 %20
  %35 = load i64, ptr %34, align 8
  %36 = mul nsw i64 %35, %32
  %37 = add nsw i64 %36, %33
  %38 = add nsw i64 %37, %31
  %39 = xor i64 %38, %32
  %40 = mul nsw i64 %39, %30
  %41 = sub nsw i64 %31, %40
  %42 = xor i64 %41, %29
  %43 = add nsw i64 %42, %30
  %44 = or i64 %43, 1
  %45 = mul nsw i64 %44, %29
  %46 = sub nsw i64 %45, %27
  %47 = add nsw i64 %46, %28
  %48 = add nsw i64 %47, %26
  %49 = xor i64 %48, %27
  %50 = mul nsw i64 %49, %25
  %51 = add nsw i64 %50, %26
  %52 = xor i64 %51, %24
  %53 = sub nsw i64 %25, %52
  %54 = mul nsw i64 %53, %23
  %55 = add nsw i64 %54, %24
  %56 = sub nsw i64 %55, %22
  %57 = xor i64 %56, %23
  %58 = mul nsw i64 %57, %21
  %59 = add nsw i64 %58, %22
  %60 = xor i64 %59, %37
  %61 = sub nsw i64 %21, %60
  %62 = and i64 %61, 7
  %63 = icmp ne i64 %62, 3
  %64 = icmp eq i64 %20, 0
  %65 = or i1 %63, %64
  br i1 %65, label %81, label %66

66:
  %67 = phi i64 [ %79, %66 ], [ %20, %19 ]
  %68 = phi i64 [ %78, %66 ], [ %45, %19 ]
  %69 = phi i64 [ %74, %66 ], [ %41, %19 ]
  %70 = phi i64 [ %72, %66 ], [ %37, %19 ]
  %71 = mul nsw i64 %67, %59
  %72 = add nsw i64 %71, %70
  %73 = add nsw i64 %67, %57
  %74 = xor i64 %73, %69
  %75 = and i64 %67, 63
  %76 = getelementptr inbounds nuw i64, ptr @table, i64 %75
  %77 = load i64, ptr %76, align 8
  %78 = add nsw i64 %77, %68
  %79 = lshr i64 %67, 1
  %80 = icmp eq i64 %79, 0
  br i1 %80, label %81, label %66

81:
  %82 = phi i64 [ %37, %19 ], [ %72, %66 ]
  %83 = phi i64 [ %41, %19 ], [ %74, %66 ]
  %84 = phi i64 [ %45, %19 ], [ %78, %66 ]
  %85 = add nuw nsw i64 %20, 1
  %86 = icmp eq i64 %85, %1
  br i1 %86, label %4, label %19
}

declare void @llvm.lifetime.start.p0(ptr)

declare void @llvm.lifetime.end.p0(ptr)

define double @blend(ptr %0, i64 %1) {
  %3 = load double, ptr %0, align 8
  %4 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %5 = load double, ptr %4, align 8
  %6 = getelementptr inbounds nuw i8, ptr %0, i64 16
  %7 = load double, ptr %6, align 8
  %8 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %9 = load double, ptr %8, align 8
  %10 = getelementptr inbounds nuw i8, ptr %0, i64 32
  %11 = load double, ptr %10, align 8
  %12 = getelementptr inbounds nuw i8, ptr %0, i64 40
  %13 = load double, ptr %12, align 8
  %14 = getelementptr inbounds nuw i8, ptr %0, i64 48
  %15 = load double, ptr %14, align 8
  %16 = getelementptr inbounds nuw i8, ptr %0, i64 56
  %17 = load double, ptr %16, align 8
  %18 = getelementptr inbounds nuw i8, ptr %0, i64 64
  %19 = load double, ptr %18, align 8
  %20 = getelementptr inbounds nuw i8, ptr %0, i64 72
  %21 = load double, ptr %20, align 8
  %22 = getelementptr inbounds nuw i8, ptr %0, i64 80
  %23 = load double, ptr %22, align 8
  %24 = getelementptr inbounds nuw i8, ptr %0, i64 88
  %25 = load double, ptr %24, align 8
  %26 = getelementptr inbounds nuw i8, ptr %0, i64 96
  %27 = load double, ptr %26, align 8
  %28 = getelementptr inbounds nuw i8, ptr %0, i64 104
  %29 = load double, ptr %28, align 8
  %30 = getelementptr inbounds nuw i8, ptr %0, i64 112
  %31 = load double, ptr %30, align 8
  %32 = getelementptr inbounds nuw i8, ptr %0, i64 120
  %33 = load double, ptr %32, align 8
  %34 = getelementptr inbounds nuw i8, ptr %0, i64 128
  %35 = load double, ptr %34, align 8
  %36 = getelementptr inbounds nuw i8, ptr %0, i64 136
  %37 = load double, ptr %36, align 8
  %38 = icmp sgt i64 %1, 0
  br i1 %38, label %76, label %39

39:
  %40 = phi double [ %37, %2 ], [ %118, %122 ]
  %41 = phi double [ %35, %2 ], [ %117, %122 ]
  %42 = phi double [ %33, %2 ], [ %116, %122 ]
  %43 = phi double [ %31, %2 ], [ %115, %122 ]
  %44 = phi double [ %29, %2 ], [ %114, %122 ]
  %45 = phi double [ %27, %2 ], [ %113, %122 ]
  %46 = phi double [ %25, %2 ], [ %112, %122 ]
  %47 = phi double [ %23, %2 ], [ %110, %122 ]
  %48 = phi double [ %21, %2 ], [ %109, %122 ]
  %49 = phi double [ %19, %2 ], [ %108, %122 ]
  %50 = phi double [ %17, %2 ], [ %107, %122 ]
  %51 = phi double [ %15, %2 ], [ %106, %122 ]
  %52 = phi double [ %13, %2 ], [ %105, %122 ]
  %53 = phi double [ %11, %2 ], [ %103, %122 ]
  %54 = phi double [ %9, %2 ], [ %102, %122 ]
  %55 = phi double [ %7, %2 ], [ %101, %122 ]
  %56 = phi double [ %5, %2 ], [ %100, %122 ]
  %57 = phi double [ %3, %2 ], [ %99, %122 ]
  %58 = fadd double %57, 0.000000e+00
  %59 = fadd double %58, %56
  %60 = fadd double %59, %55
  %61 = fadd double %60, %54
  %62 = fadd double %61, %53
  %63 = fadd double %62, %52
  %64 = fadd double %63, %51
  %65 = fadd double %64, %50
  %66 = fadd double %65, %49
  %67 = fadd double %66, %48
  %68 = fadd double %67, %47
  %69 = fadd double %68, %46
  %70 = fadd double %69, %45
  %71 = fadd double %70, %44
  %72 = fadd double %71, %43
  %73 = fadd double %72, %42
  %74 = fadd double %73, %41
  %75 = fadd double %74, %40
  ret double %75

76:
  %77 = phi double [ %118, %122 ], [ %37, %2 ]
  %78 = phi double [ %117, %122 ], [ %35, %2 ]
  %79 = phi double [ %116, %122 ], [ %33, %2 ]
  %80 = phi double [ %115, %122 ], [ %31, %2 ]
  %81 = phi double [ %114, %122 ], [ %29, %2 ]
  %82 = phi double [ %113, %122 ], [ %27, %2 ]
  %83 = phi double [ %112, %122 ], [ %25, %2 ]
  %84 = phi double [ %110, %122 ], [ %23, %2 ]
  %85 = phi double [ %109, %122 ], [ %21, %2 ]
  %86 = phi double [ %108, %122 ], [ %19, %2 ]
  %87 = phi double [ %107, %122 ], [ %17, %2 ]
  %88 = phi double [ %106, %122 ], [ %15, %2 ]
  %89 = phi double [ %105, %122 ], [ %13, %2 ]
  %90 = phi double [ %103, %122 ], [ %11, %2 ]
  %91 = phi double [ %101, %122 ], [ %7, %2 ]
  %92 = phi double [ %102, %122 ], [ %9, %2 ]
  %93 = phi double [ %100, %122 ], [ %5, %2 ]
  %94 = phi i64 [ %123, %122 ], [ 0, %2 ]
  %95 = phi double [ %99, %122 ], [ %3, %2 ]
  %96 = and i64 %94, 63
  %97 = getelementptr inbounds nuw double, ptr %0, i64 %96
  %98 = load double, ptr %97, align 8
  %99 = tail call double @llvm.fmuladd.f64(double %98, double %93, double %95)
  %100 = fsub double %93, %98
  %101 = tail call double @llvm.fmuladd.f64(double %99, double %92, double %91)
  %102 = fmul double %98, %92
  %103 = fadd double %101, %90
  %104 = fneg double %103
  %105 = tail call double @llvm.fmuladd.f64(double %104, double %98, double %89)
  %106 = fadd double %105, %88
  %107 = tail call double @llvm.fmuladd.f64(double %106, double %98, double %87)
  %108 = fsub double %86, %107
  %109 = tail call double @llvm.fmuladd.f64(double %108, double %98, double %85)
  %110 = fadd double %109, %84
  %111 = fneg double %110
  %112 = tail call double @llvm.fmuladd.f64(double %111, double %98, double %83)
  %113 = fadd double %112, %82
  %114 = tail call double @llvm.fmuladd.f64(double %113, double %98, double %81)
  %115 = fsub double %80, %114
  %116 = tail call double @llvm.fmuladd.f64(double %115, double %98, double %79)
  %117 = fadd double %116, %78
  %118 = fsub double %77, %98
  %119 = fcmp olt double %118, -1.000000e+09
  br i1 %119, label %120, label %122

120:
  %121 = tail call i32 (ptr, ...) @printf(ptr dereferenceable(1) @.str, double %102)
  br label %122

122:
  %123 = add nuw nsw i64 %94, 1
  %124 = icmp eq i64 %123, %1
  br i1 %124, label %39, label %76
}

declare double @llvm.fmuladd.f64(double, double, double)

declare i32 @printf(ptr, ...)

define i32 @main() {
  %1 = alloca [64 x double], align 16
  call void @llvm.lifetime.start.p0(ptr %1)
  br label %6

2:
  %3 = tail call i64 @sums(ptr @table, i64 64)
  %4 = call double @blend(ptr %1, i64 64)
  %5 = tail call i32 (ptr, ...) @printf(ptr dereferenceable(1) @.str.1, i64 %3, double %4)
  call void @llvm.lifetime.end.p0(ptr %1)
  ret i32 0

6:
  %7 = phi i64 [ 0, %0 ], [ %25, %6 ]
  %8 = add nuw nsw i64 %7, -70
  %9 = mul nsw i64 %8, %7
  %10 = getelementptr inbounds nuw i64, ptr @table, i64 %7
  store i64 %9, ptr %10, align 16
  %11 = trunc i64 %7 to i32
  %12 = add nuw nsw i32 %11, 2
  %13 = uitofp nneg i32 %12 to double
  %14 = fdiv double 1.000000e+00, %13
  %15 = getelementptr inbounds nuw double, ptr %1, i64 %7
  store double %14, ptr %15, align 16
  %16 = or disjoint i64 %7, 1
  %17 = add nuw nsw i64 %7, -69
  %18 = mul nsw i64 %17, %16
  %19 = getelementptr inbounds nuw i64, ptr @table, i64 %16
  store i64 %18, ptr %19, align 8
  %20 = trunc i64 %16 to i32
  %21 = add nuw nsw i32 %20, 2
  %22 = uitofp nneg i32 %21 to double
  %23 = fdiv double 1.000000e+00, %22
  %24 = getelementptr inbounds nuw double, ptr %1, i64 %16
  store double %23, ptr %24, align 8
  %25 = add nuw nsw i64 %7, 2
  %26 = icmp eq i64 %25, 64
  br i1 %26, label %2, label %6
}
