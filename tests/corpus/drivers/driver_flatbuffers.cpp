// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unistd.h>
#include "flatbuffers/idl.h"
#include "flatbuffers/reflection.h"
#include "flatbuffers/util.h"
#include "gen.h"
namespace flatbuffers { void LogCompilerWarn(const std::string &) {} void LogCompilerError(const std::string &error) { printf("%s\n", error.c_str()); } }
using namespace flatbuffers;
static std::string content(const std::string &path) { std::string text; if (!LoadFile(path.c_str(), true, &text)) printf("no file %s\n", path.c_str()); return text; }
static void shown(const char *what, const std::string &text) { printf("%s: %zu bytes %016llx\n", what, text.size(), (unsigned long long)gen_hash(text.data(), text.size(), 0)); }
int main(int, char **argv) {
  const std::string tests = argv[1], include = tests + "/include_test", schema = content(tests + "/monster_test.fbs"), data = content(tests + "/monsterdata_test.json"); const char *folders[] = {include.c_str(), tests.c_str(), nullptr};
  IDLOptions options; options.indent_step = 2; options.generate_object_based_api = true; options.gen_compare = true; options.gen_nullable = true; Parser parser(options);
  if (!parser.Parse(schema.c_str(), folders, (tests + "/monster_test.fbs").c_str()) || !parser.Parse(data.c_str(), folders)) { printf("%s\n", parser.error_.c_str()); return 1; }
  std::string text; for (int i = 0; i < 60; i++) { text.clear(); GenerateText(parser, parser.builder_.GetBufferPointer(), &text); if (!parser.Parse(text.c_str(), folders)) { printf("%s\n", parser.error_.c_str()); return 1; } }
  shown("text", text); shown("binary", std::string(reinterpret_cast<char *>(parser.builder_.GetBufferPointer()), parser.builder_.GetSize()));
  parser.Serialize(); shown("schema", std::string(reinterpret_cast<char *>(parser.builder_.GetBufferPointer()), parser.builder_.GetSize())); Verifier verifier(parser.builder_.GetBufferPointer(), parser.builder_.GetSize()); printf("%s\n", reflection::VerifySchemaBuffer(verifier) ? "verified" : "damaged");
  shown("fbs", GenerateFBS(parser, "x")); std::string json; GenerateJsonSchema(parser, &json); shown("json schema", json);
  Parser fresh(options); if (!fresh.Parse(schema.c_str(), folders, (tests + "/monster_test.fbs").c_str())) return 1;
  char folder[] = "/tmp/driver-XXXXXX"; if (!mkdtemp(folder)) return 1; const std::string path = std::string(folder) + "/", file = path + "m_generated.";
  if (GenerateCPP(fresh, path, "m")) { shown("C++", content(file + "h")); remove((file + "h").c_str()); }
  if (GenerateRust(fresh, path, "m")) { shown("Rust", content(file + "rs")); remove((file + "rs").c_str()); }
  if (GenerateSwift(fresh, path, "m")) { shown("Swift", content(file + "swift")); remove((file + "swift").c_str()); }
  rmdir(folder);
  gen_rng r; gen_seed(&r, 56); int refused = 0; uint64_t H = 0; for (int i = 0; i < 250; i++) { std::string wrong = i % 2 ? schema : data; wrong[gen_below(&r, wrong.size())] = static_cast<char>(33 + gen_below(&r, 90)); Parser other(options); if (i % 2 == 0) other.Parse(schema.c_str(), folders); if (!other.Parse(wrong.c_str(), folders)) { refused++; const std::string &error = other.error_; const size_t at = error.find("error:"); H = gen_hash(error.data() + (at == std::string::npos ? 0 : at), at == std::string::npos ? 0 : error.size() - at, H); } }
  printf("%d refused, %016llx\n", refused, (unsigned long long)H);
  return 0;
}
