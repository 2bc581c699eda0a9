// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <stdio.h>
#include "gen.h"
#include "wavpack.h"
typedef struct { unsigned char *data; int64_t size, at; int pushed; } file;
static int put(void *id, void *data, int32_t n) { file *f = id; memcpy(f->data + f->size, data, (size_t)n); f->size += n; return 1; }
static int32_t get(void *id, void *data, int32_t n) { file *f = id; int32_t m = (int32_t)(f->size - f->at < n ? f->size - f->at : n); memcpy(data, f->data + f->at, (size_t)m); f->at += m; return m; }
static int64_t tell(void *id) { return ((file *)id)->at; }
static int absolute(void *id, int64_t at) { ((file *)id)->at = at; return 0; }
static int relative(void *id, int64_t by, int how) { file *f = id; f->at = (how == 0 ? 0 : how == 1 ? f->at : f->size) + by; return 0; }
static int unread(void *id, int c) { ((file *)id)->at--; return c; }
static int64_t length(void *id) { return ((file *)id)->size; }
static int can(void *id) { (void)id; return 1; }
static WavpackStreamReader64 reader = {get, put, tell, absolute, relative, unread, length, can, NULL, NULL};
static int32_t sound[2 * 24000], heard[2 * 26000];
static void make(int kind, int bits, int channels) {
  gen_rng r; int i, c, phase = 0, step = 700; gen_seed(&r, 50 + (unsigned)kind);
  for (i = 0; i < 24000; i++) { phase += step; if (i % 500 == 0) step = 200 + (int)gen_below(&r, 3000);
    for (c = 0; c < channels; c++) { int tri = (phase * (c + 1)) & 0xffff, v = kind == 2 ? (int)gen_below(&r, 65536) - 32768 : (tri < 32768 ? tri : 65535 - tri) - 16384 + (kind ? (int)gen_below(&r, 256) : 0); if (kind == 3 && i % 5000 < 2000) v = 0;
      sound[i * channels + c] = bits == 8 ? v >> 8 : bits == 24 ? v * 256 : v; } }
}
static void round_trip(int kind, int bits, int channels, int flags, float rate) {
  file f = {malloc(4000000), 0, 0, 0}; WavpackConfig config; WavpackContext *w; char error[128] = ""; uint32_t n = 0, got; int64_t wrong = 0; int i;
  make(kind, bits, channels); memset(&config, 0, sizeof config); config.bytes_per_sample = bits / 8; config.bits_per_sample = bits; config.num_channels = channels; config.channel_mask = channels == 2 ? 3 : 4; config.sample_rate = 44100; config.flags = flags; config.bitrate = rate; if (flags & CONFIG_EXTRA_MODE) config.xmode = 3;
  w = WavpackOpenFileOutput(put, &f, NULL); if (!WavpackSetConfiguration64(w, &config, 24000, NULL) || !WavpackPackInit(w)) { printf("%s\n", WavpackGetErrorMessage(w)); return; }
  WavpackPackSamples(w, sound, 24000); WavpackFlushSamples(w); WavpackAppendTagItem(w, "Title", "drums", 5); WavpackAppendTagItem(w, "Year", "2020", 4); WavpackWriteTag(w); WavpackCloseFile(w);
  printf("%d/%d/%d/%x: %lld bytes %016llx", kind, bits, channels, (unsigned)flags, (long long)f.size, (unsigned long long)gen_hash(f.data, (size_t)f.size, 0));
  w = WavpackOpenFileInputEx64(&reader, &f, NULL, error, OPEN_TAGS | OPEN_WRAPPER, 0); if (!w) { printf(" %s\n", error); free(f.data); return; }
  while ((got = WavpackUnpackSamples(w, heard + n * (uint32_t)channels, 1000)) != 0) n += got;
  for (i = 0; i < 24000 * channels; i++) wrong += heard[i] != sound[i];
  WavpackSeekSample64(w, 12345); WavpackUnpackSamples(w, heard, 500); { char text[64] = ""; WavpackGetTagItem(w, "title", text, sizeof text); printf(" %u samples, %s, %s, seek %016llx, %d errors, %d items\n", n, wrong ? "lossy" : "exact", text, (unsigned long long)gen_hash(heard, (size_t)(500 * channels) * 4, 0), WavpackGetNumErrors(w), WavpackGetNumTagItems(w)); }
  WavpackCloseFile(w); f.data[f.size / 2] ^= 0x55; f.at = 0; w = WavpackOpenFileInputEx64(&reader, &f, NULL, error, 0, 0); if (w) { n = 0; while ((got = WavpackUnpackSamples(w, heard, 1000)) != 0) n += got; printf("  damaged: %u samples, %d errors\n", n, WavpackGetNumErrors(w)); WavpackCloseFile(w); }
  free(f.data);
}
int main(void) {
  int kind;
  for (kind = 0; kind < 4; kind++) { round_trip(kind, 16, 2, 0, 0); round_trip(kind, 16, 1, CONFIG_FAST_FLAG, 0); round_trip(kind, 24, 2, CONFIG_HIGH_FLAG, 0); round_trip(kind, 16, 2, CONFIG_VERY_HIGH_FLAG | CONFIG_JOINT_STEREO, 0); round_trip(kind, 16, 2, CONFIG_HYBRID_FLAG | CONFIG_BITRATE_KBPS, 256); }
  round_trip(1, 8, 1, 0, 0); round_trip(1, 16, 2, CONFIG_HIGH_FLAG | CONFIG_EXTRA_MODE, 0);
  return 0;
}
