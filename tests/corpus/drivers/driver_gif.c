// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <stdio.h>
#include "gen.h"
#include "gif_lib.h"
#include "getarg.h"
typedef struct { unsigned char *data; size_t size, at; } buffer;
static int put(GifFileType *g, const GifByteType *p, int n) { buffer *b = g->UserData; memcpy(b->data + b->size, p, (size_t)n); b->size += (size_t)n; return n; }
static int get(GifFileType *g, GifByteType *p, int n) { buffer *b = g->UserData; if (b->at + (size_t)n > b->size) n = (int)(b->size - b->at); memcpy(p, b->data + b->at, (size_t)n); b->at += (size_t)n; return n; }
int main(void) {
  buffer b = {malloc(8u << 20), 0, 0}; int e = 0, frame, i, w = 320, h = 200, size = 256; gen_rng r; GifFileType *g; GifColorType colors[256]; uint64_t H = 0;
  GifByteType *red = malloc((size_t)(w * h)), *green = malloc((size_t)(w * h)), *blue = malloc((size_t)(w * h)), *line = malloc((size_t)(w * h));
  gen_seed(&r, 31); for (i = 0; i < w * h; i++) { red[i] = (GifByteType)(i % w); green[i] = (GifByteType)(i / w + gen_below(&r, 9)); blue[i] = (GifByteType)(i * i >> 8); }
  if (GifQuantizeBuffer((unsigned)w, (unsigned)h, &size, red, green, blue, line, colors) == GIF_ERROR) return 1;
  g = EGifOpen(&b, put, &e); EGifSetGifVersion(g, 1); EGifPutScreenDesc(g, w, h, 8, 0, GifMakeMapObject(256, colors));
  for (frame = 0; frame < 12; frame++) { GraphicsControlBlock c = {DISPOSE_DO_NOT, 0, frame, NO_TRANSPARENT_COLOR}; GifByteType x[4]; EGifGCBToExtension(&c, x); EGifPutExtension(g, GRAPHICS_EXT_FUNC_CODE, 4, x); EGifPutComment(g, "frame"); EGifPutImageDesc(g, 0, 0, w, h, frame % 3 == 0, 0);
    for (i = 0; i < h; i++) { line[gen_below(&r, (uint32_t)(w * h))] ^= (GifByteType)frame; if (EGifPutLine(g, line + (size_t)(i * w), w) == GIF_ERROR) return 2; } }
  if (EGifCloseFile(g, &e) == GIF_ERROR) return 3;
  printf("size %zu colors %d hash %016llx\n", b.size, size, (unsigned long long)gen_hash(b.data, b.size, 0));
  g = DGifOpen(&b, get, &e); if (DGifSlurp(g) == GIF_ERROR) { printf("%s\n", GifErrorString(g->Error)); return 4; }
  for (i = 0; i < g->ImageCount; i++) { GraphicsControlBlock c; DGifSavedExtensionToGCB(g, i, &c); H = gen_hash(g->SavedImages[i].RasterBits, (size_t)(w * h), H + (uint64_t)c.DelayTime); }
  printf("images %d hash %016llx\n", g->ImageCount, (unsigned long long)H); DGifCloseFile(g, &e);
  for (i = 0; i < 40; i++) { b.at = 0; b.data[100 + gen_below(&r, (uint32_t)b.size - 100)] ^= 1; } g = DGifOpen(&b, get, &e); i = DGifSlurp(g); printf("damaged %d %d\n", i, g->ImageCount); DGifCloseFile(g, &e);
  free(red); free(green); free(blue); free(line); free(b.data);
  return 0;
}
