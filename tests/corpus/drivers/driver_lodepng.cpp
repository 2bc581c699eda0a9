// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdio>
#include <vector>
#include "gen.h"
#include "lodepng.h"
#include "lodepng_util.h"
int main() {
  const LodePNGColorType types[] = {LCT_GREY, LCT_RGB, LCT_PALETTE, LCT_GREY_ALPHA, LCT_RGBA};
  unsigned w = 240, h = 160; std::vector<unsigned char> image(w * h * 4); gen_rng r; gen_seed(&r, 41);
  for (unsigned i = 0; i < w * h; i++) { image[4 * i] = (unsigned char)((i % w) / 20 * 20); image[4 * i + 1] = (unsigned char)(i / w); image[4 * i + 2] = (unsigned char)(gen_below(&r, 3) * 40); image[4 * i + 3] = (unsigned char)(i % 11 ? 255 : 128); }
  for (int t = 0; t < 5; t++) for (unsigned interlace = 0; interlace < 2; interlace++) {
    lodepng::State s; s.encoder.auto_convert = 0; s.info_raw.colortype = LCT_RGBA; s.info_png.color.colortype = types[t]; s.info_png.interlace_method = interlace; s.encoder.filter_strategy = t == 1 ? LFS_ENTROPY : LFS_MINSUM; s.encoder.add_id = t == 2;
    if (types[t] == LCT_PALETTE) { for (int i = 0; i < 256; i++) lodepng_palette_add(&s.info_png.color, (unsigned char)(i % 13 * 20), (unsigned char)i, (unsigned char)(i % 3 * 40), i % 2 ? 255 : 128);
      for (unsigned i = 0; i < w * h; i++) { int k = (int)(gen_below(&r, 256)); image[4 * i] = (unsigned char)(k % 13 * 20); image[4 * i + 1] = (unsigned char)k; image[4 * i + 2] = (unsigned char)(k % 3 * 40); image[4 * i + 3] = k % 2 ? 255 : 128; } }
    std::vector<unsigned char> raw, png, back; unsigned w2, h2, e; lodepng_add_text(&s.info_png, "Comment", "a text");
    e = lodepng::encode(png, image, w, h, s); printf("type %d interlace %u: error %u size %zu hash %016llx\n", types[t], interlace, e, png.size(), (unsigned long long)gen_hash(png.data(), png.size(), 0)); if (e) continue;
    lodepng::State d; e = lodepng::decode(back, w2, h2, d, png); printf("  back %u: %u x %u hash %016llx texts %zu\n", e, w2, h2, (unsigned long long)gen_hash(back.data(), back.size(), 0), d.info_png.text_num);
    std::vector<std::string> names; std::vector<size_t> sizes; lodepng::getChunkInfo(names, sizes, png); printf("  chunks %zu", names.size()); std::vector<unsigned char> filters; lodepng::getFilterTypes(filters, png); printf(" filters %016llx\n", (unsigned long long)gen_hash(filters.data(), filters.size(), 0));
    png[png.size() / 2] ^= 1; e = lodepng::decode(back, w2, h2, png); printf("  damaged: %s\n", lodepng_error_text(e));
  }
  return 0;
}
