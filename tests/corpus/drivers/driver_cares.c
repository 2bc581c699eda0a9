// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include "gen.h"
#include "ares.h"
#include "ares_dns.h"
static unsigned long long H; static long good, bad;
static unsigned char packet[4096]; static size_t size;
static void byte(unsigned v) { packet[size++] = (unsigned char)v; }
static void word(unsigned v) { byte(v >> 8); byte(v & 255); }
static void number(unsigned long v) { word((unsigned)(v >> 16)); word((unsigned)(v & 65535)); }
static void name(const char *s) { while (*s) { size_t n = strcspn(s, "."); byte((unsigned)n); memcpy(packet + size, s, n); size += n; s += n + (s[n] == '.'); } byte(0); }
static void answer(const char *question, unsigned type, unsigned count, gen_rng *r) {
  static const char *names[] = {"mail.example.org", "a.b.c.d.example.com", "x.test", "ns1.host.net"}; unsigned i; size = 0;
  word(gen_below(r, 65536)); word(0x8180); word(1); word(count); word(0); word(0); name(question); word(type); word(1);
  for (i = 0; i < count; i++) { size_t at; word(0xc00c); word(type); word(1); number(60 + gen_below(r, 9000)); at = size; word(0);
    switch (type) { case 1: number(gen_u64(r) & 0xffffffffu); break; case 28: number(0x20010db8); number(gen_below(r, 9)); number(0); number(gen_u64(r) & 0xffffffffu); break;
      case 2: case 12: case 5: name(names[gen_below(r, 4)]); break; case 15: word(gen_below(r, 100)); name(names[gen_below(r, 4)]); break; case 33: word(i); word(5); word(80 + i); name(names[gen_below(r, 4)]); break;
      case 16: { unsigned n = 1 + gen_below(r, 60); byte(n); while (n--) byte(32 + gen_below(r, 90)); byte(3); byte('a'); byte('b'); byte('c'); break; } case 6: name(names[0]); name(names[1]); number(2024010101); number(7200); number(3600); number(1209600); number(300); break;
      case 35: word(10); word(i); byte(1); byte('s'); byte(7); memcpy(packet + size, "E2U+sip", 7); size += 7; byte(4); memcpy(packet + size, "!^.*", 4); size += 4; name(names[2]); break; case 257: byte(0); byte(5); memcpy(packet + size, "issueca.example", 15); size += 15; break; case 256: word(10); word(1); memcpy(packet + size, "https://x/y", 11); size += 11; break; default: break; }
    packet[at] = (unsigned char)((size - at - 2) >> 8); packet[at + 1] = (unsigned char)((size - at - 2) & 255); }
}
static void text(const char *s) { if (s) H = gen_hash(s, strlen(s), H); }
static void host(struct hostent *h) { char **p; text(h->h_name); for (p = h->h_aliases; *p; p++) text(*p); for (p = h->h_addr_list; *p; p++) H = gen_hash(*p, (size_t)h->h_length, H); ares_free_hostent(h); }
static void parse(unsigned type) {
  int n = 20, got = 1; struct hostent *h = NULL; struct ares_addrttl four[20]; struct ares_addr6ttl six[20]; char shown[64]; int len = (int)size, i;
  switch (type) {
  case 1: got = ares_parse_a_reply(packet, len, &h, four, &n); if (!got) for (i = 0; i < n; i++) text(ares_inet_ntop(AF_INET, &four[i].ipaddr, shown, sizeof shown)); break;
  case 28: got = ares_parse_aaaa_reply(packet, len, &h, six, &n); if (!got) for (i = 0; i < n; i++) text(ares_inet_ntop(AF_INET6, &six[i].ip6addr, shown, sizeof shown)); break;
  case 2: got = ares_parse_ns_reply(packet, len, &h); break; case 12: got = ares_parse_ptr_reply(packet, len, "\x7f\0\0\1", 4, AF_INET, &h); break;
  case 15: { struct ares_mx_reply *m, *p; got = ares_parse_mx_reply(packet, len, &m); if (!got) { for (p = m; p; p = p->next) text(p->host); ares_free_data(m); } break; }
  case 33: { struct ares_srv_reply *m, *p; got = ares_parse_srv_reply(packet, len, &m); if (!got) { for (p = m; p; p = p->next) { text(p->host); H += p->port; } ares_free_data(m); } break; }
  case 16: { struct ares_txt_ext *m, *p; got = ares_parse_txt_reply_ext(packet, len, &m); if (!got) { for (p = m; p; p = p->next) H = gen_hash(p->txt, p->length, H); ares_free_data(m); } break; }
  case 6: { struct ares_soa_reply *m; got = ares_parse_soa_reply(packet, len, &m); if (!got) { text(m->nsname); text(m->hostmaster); H += m->serial; ares_free_data(m); } break; }
  case 35: { struct ares_naptr_reply *m, *p; got = ares_parse_naptr_reply(packet, len, &m); if (!got) { for (p = m; p; p = p->next) { text((char *)p->service); text(p->replacement); } ares_free_data(m); } break; }
  case 257: { struct ares_caa_reply *m, *p; got = ares_parse_caa_reply(packet, len, &m); if (!got) { for (p = m; p; p = p->next) { text((char *)p->property); text((char *)p->value); } ares_free_data(m); } break; }
  case 256: { struct ares_uri_reply *m, *p; got = ares_parse_uri_reply(packet, len, &m); if (!got) { for (p = m; p; p = p->next) text(p->uri); ares_free_data(m); } break; }
  default: break; }
  if (h) host(h);
  if (got) { bad++; text(ares_strerror(got)); } else good++;
}
static void found(void *arg, int status, int timeouts, struct hostent *h) { (void)timeouts; printf("%s: %s %s\n", (const char *)arg, ares_strerror(status), h ? h->h_name : "-"); }
int main(void) {
  static const unsigned types[] = {1, 28, 2, 12, 15, 33, 16, 6, 35, 257, 256}; gen_rng r; int i, k; ares_channel channel; struct ares_options options; char *line = NULL; long used;
  gen_seed(&r, 51); ares_library_init(ARES_LIB_INIT_ALL);
  for (i = 0; i < 12000; i++) { unsigned type = types[gen_below(&r, 11)]; answer("www.example.com", type, 1 + gen_below(&r, 8), &r); for (k = 0; k < i % 3; k++) packet[gen_below(&r, (uint32_t)size)] ^= (unsigned char)(1 << gen_below(&r, 8)); parse(type); }
  printf("%ld parsed, %ld refused, %016llx\n", good, bad, H);
  for (i = 0; i < 300; i++) { unsigned char *q = NULL; int n = 0; char w[64], full[200]; gen_word((uint32_t)i, w); snprintf(full, sizeof full, "%s.%s\\.x.example.", w, w); k = ares_create_query(full, 1, (int)types[i % 11], (unsigned short)i, i % 2, &q, &n, i % 3 ? 0 : 1280); H = gen_hash(&k, sizeof k, H); if (!k) { H = gen_hash(q, (size_t)n, H); if (!ares_expand_name(q + 12, q, n, &line, &used)) { text(line); ares_free_string(line); } ares_free_string(q); } }
  printf("%016llx\n", H); memset(&options, 0, sizeof options); options.flags = ARES_FLAG_NOCHECKRESP; options.lookups = "f"; options.timeout = 100; options.tries = 1; options.ndots = 1;
  k = ares_init_options(&channel, &options, ARES_OPT_FLAGS | ARES_OPT_LOOKUPS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_NDOTS); printf("%s\n", ares_strerror(k));
  printf("%s\n", ares_strerror(ares_set_servers_csv(channel, "192.0.2.1:53,[2001:db8::1]:5353"))); printf("%s\n", ares_strerror(ares_set_sortlist(channel, "192.0.2.0/255.255.255.0 198.51.100.0")));
  ares_gethostbyname(channel, "192.0.2.77", AF_INET, found, "four"); ares_gethostbyname(channel, "2001:db8::42", AF_INET6, found, "six"); ares_gethostbyname(channel, "a..b", AF_INET, found, "wrong"); ares_cancel(channel); ares_destroy(channel); ares_library_cleanup();
  return 0;
}
