// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdio>
#include "gen.h"
#include "wabt/apply-names.h"
#include "wabt/binary-reader-ir.h"
#include "wabt/binary-reader.h"
#include "wabt/binary-writer.h"
#include "wabt/decompiler.h"
#include "wabt/error-formatter.h"
#include "wabt/generate-names.h"
#include "wabt/interp/binary-reader-interp.h"
#include "wabt/interp/interp.h"
#include "wabt/ir.h"
#include "wabt/stream.h"
#include "wabt/validator.h"
#include "wabt/wast-parser.h"
#include "wabt/wat-writer.h"
using namespace wabt;
static const char *wat = R"((module
 (import "env" "log" (func $log (param i32)))
 (memory (export "memory") 2 8) (global $g (mut i64) (i64.const 5)) (table 4 funcref) (elem (i32.const 0) $fib $sum $fact)
 (type $unary (func (param i32) (result i32))) (data (i32.const 16) "hello \00\ff wasm")
 (func $fib (type $unary) (if (result i32) (i32.lt_s (local.get 0) (i32.const 2)) (then (local.get 0)) (else (i32.add (call $fib (i32.sub (local.get 0) (i32.const 1))) (call $fib (i32.sub (local.get 0) (i32.const 2)))))))
 (func $sum (type $unary) (local $s i32) (loop $l (local.set $s (i32.add (local.get $s) (i32.mul (local.get 0) (i32.load8_u offset=16 (i32.and (local.get 0) (i32.const 7)))))) (br_if $l (local.tee 0 (i32.sub (local.get 0) (i32.const 1))))) (local.get $s))
 (func $fact (type $unary) (global.set $g (i64.const 1)) (block $done (loop $l (br_if $done (i32.eqz (local.get 0))) (global.set $g (i64.mul (global.get $g) (i64.extend_i32_u (local.get 0)))) (local.set 0 (i32.sub (local.get 0) (i32.const 1))) (br $l))) (i32.wrap_i64 (i64.rem_u (global.get $g) (i64.const 1000003))))
 (func (export "run") (param $k i32) (param $x i32) (result i32) (call $log (local.get $x)) (call_indirect (type $unary) (local.get $x) (local.get $k)))
 (func (export "float") (param f64) (result f64) (local i32) (local.set 1 (i32.const 500)) (loop (local.set 0 (f64.add (f64.mul (local.get 0) (f64.const 0x1.8p-1)) (f64.convert_i32_s (local.get 1)))) (br_if 0 (local.tee 1 (i32.sub (local.get 1) (i32.const 1))))) (f64.sqrt (local.get 0)))
 (func (export "simd") (result i64) (i64x2.extract_lane 1 (i64x2.add (v128.const i64x2 3 4) (i64x2.splat (i64.const 40)))))
 (func (export "table") (param i32) (result i32) (block (block (block (br_table 0 1 2 (local.get 0))) (return (i32.const 10))) (return (i32.popcnt (i32.const 255)))) (memory.grow (i32.const 1))) ))";
int main() {
  Errors errors; Features features; features.EnableAll(); std::vector<uint8_t> bytes;
  { std::unique_ptr<Module> m; auto lexer = WastLexer::CreateBufferLexer("in.wat", wat, strlen(wat), &errors); WastParseOptions o(features); Result r = ParseWatModule(lexer.get(), &m, &errors, &o); printf("parse %d validate %d\n", (int)r, (int)ValidateModule(m.get(), &errors, ValidateOptions(features))); puts(FormatErrorsToString(errors, Location::Type::Text).c_str());
    for (bool names : {false, true}) { MemoryStream s; WriteBinaryOptions w; w.features = features; w.write_debug_names = names; r = WriteBinaryModule(&s, m.get(), w); bytes = s.output_buffer().data; printf("binary %d %zu %016llx\n", (int)r, bytes.size(), (unsigned long long)gen_hash(bytes.data(), bytes.size(), 0)); } }
  { Module m; ReadBinaryOptions o(features, nullptr, true, true, true); Result r = ReadBinaryIr("m.wasm", bytes.data(), bytes.size(), o, &errors, &m); GenerateNames(&m); ApplyNames(&m); for (bool fold : {false, true}) { MemoryStream s; WriteWatOptions w; w.fold_exprs = fold; WriteWat(&s, &m, w); printf("text %d %zu %016llx\n", (int)r, s.output_buffer().data.size(), (unsigned long long)gen_hash(s.output_buffer().data.data(), s.output_buffer().data.size(), 0)); } std::string s = Decompile(m, DecompileOptions()); printf("decompiled %zu %016llx\n", s.size(), (unsigned long long)gen_hash(s.data(), s.size(), 0)); }
  { interp::Store store(features); interp::ModuleDesc d; ReadBinaryOptions o(features, nullptr, true, true, true); Result r = interp::ReadBinaryInterp("m.wasm", bytes.data(), bytes.size(), o, &errors, &d); auto module = interp::Module::New(store, d); long logged = 0; auto log = interp::HostFunc::New(store, interp::FuncType({Type::I32}, {}), [&](interp::Thread &, const interp::Values &v, interp::Values &, interp::Trap::Ptr *) { logged += v[0].Get<int32_t>(); return Result::Ok; }); interp::Trap::Ptr trap; auto instance = interp::Instance::Instantiate(store, module.ref(), {log.ref()}, &trap); printf("interp %d %d\n", (int)r, !!instance);
    for (size_t i = 0; i < d.exports.size(); i++) { if (d.exports[i].type.type->kind != ExternalKind::Func) continue; auto f = store.UnsafeGet<interp::Func>(instance->exports()[i]); for (int k = 0; k < 5; k++) { interp::Values in, out; for (Type t : cast<interp::FuncType>(d.exports[i].type.type.get())->params) in.push_back(t == Type::F64 ? interp::Value::Make(k * 1.5) : interp::Value::Make(in.empty() ? k : 17)); trap = {}; Result x = f->Call(store, in, out, &trap); if (trap) printf("%s trap %s\n", d.exports[i].type.name.c_str(), trap->message().c_str()); else if (Succeeded(x) && !out.empty()) { Type t = cast<interp::FuncType>(d.exports[i].type.type.get())->results[0]; printf("%s = %.6f\n", d.exports[i].type.name.c_str(), t == Type::F64 ? out[0].Get<double>() : t == Type::I64 ? (double)out[0].Get<int64_t>() : out[0].Get<int32_t>()); } } } printf("logged %ld\n", logged); }
  for (const char *bad : {"(module (func (result i32)))", "(module (func (local.get 3)))", "(modul)", "(module (func (i32.add (i64.const 1) (i32.const 2)) drop))", "(module (memory 1 70000))", "(module (func $a) (func $a))", "(module (import \"a\" \"b\" (func)) (export \"x\" (func 9)))", "(module (data \"x\")"}) { Errors e; std::unique_ptr<Module> m; auto lexer = WastLexer::CreateBufferLexer("bad", bad, strlen(bad), &e); WastParseOptions o(features); if (Succeeded(ParseWatModule(lexer.get(), &m, &e, &o))) ValidateModule(m.get(), &e, ValidateOptions(features)); for (auto &x : e) printf("%d %s\n", x.loc.line, x.message.c_str()); }
  for (size_t i = 8; i < bytes.size(); i += 5) { auto damaged = bytes; damaged[i] ^= 0x15; Errors e; Module m; ReadBinaryOptions o(Features(), nullptr, false, true, false); if (Succeeded(ReadBinaryIr("d", damaged.data(), damaged.size(), o, &e, &m))) ValidateModule(&m, &e, ValidateOptions(features)); if (i % 50 == 8) printf("%zu: %zu errors\n", i, e.size()); }
  return 0;
}
