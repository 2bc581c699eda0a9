// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdio>
#include <stdexcept>
#include <string>
#include "gen.h"
#include "libzpaq.h"
void libzpaq::error(const char *m) { throw std::runtime_error(m); }
struct In : libzpaq::Reader { const char *p; size_t n, i = 0; In(const char *a, size_t b) : p(a), n(b) {} int get() override { return i < n ? (unsigned char)p[i++] : -1; } };
struct Out : libzpaq::Writer { std::string s; void put(int c) override { s += (char)c; } };
int main() {
  size_t n = 200000; std::string text(n, ' '); gen_text(&text[0], n, 49);
  for (const char *method : {"0", "1", "2", "3", "4", "x4.3ci1", "x4,0,1,4,0,3", "x4,1,4,0,3,20"}) { In in(text.data(), n / (method[0] > '3' ? 4 : 1)); Out packed, back; libzpaq::compress(&in, &packed, method, "name", "comment", true); In again(packed.s.data(), packed.s.size()); libzpaq::decompress(&again, &back); printf("%s: %zu -> %zu hash %016llx same %d\n", method, in.n, packed.s.size(), (unsigned long long)gen_hash(packed.s.data(), packed.s.size(), 0), back.s == text.substr(0, in.n)); }
  libzpaq::SHA1 a; libzpaq::SHA256 b; for (char c : text) { a.put(c); b.put(c); } printf("%016llx %016llx\n", (unsigned long long)gen_hash(a.result(), 20, 0), (unsigned long long)gen_hash(b.result(), 32, 0));
  { char key[32]; for (int i = 0; i < 32; i++) key[i] = (char)i; libzpaq::AES_CTR aes(key, 32, "12345678"); aes.encrypt(&text[0], 1000, 5); printf("aes %016llx\n", (unsigned long long)gen_hash(text.data(), 1000, 0)); char out[64]; libzpaq::scrypt("password", 8, "salt1234", 8, 64, 4, 1, out, 64); printf("scrypt %016llx\n", (unsigned long long)gen_hash(out, 64, 0)); }
  try { In bad("7kSt\xa0\x31\x83\xd3\x8c\xb2\x28\xb0\xd3zPQ\x05", 17); Out o; libzpaq::decompress(&bad, &o); } catch (const std::exception &e) { puts(e.what()); }
  return 0;
}
