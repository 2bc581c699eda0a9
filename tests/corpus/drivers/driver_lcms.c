// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <stdio.h>
#include "gen.h"
#include "lcms2.h"
static unsigned long long H;
static void transform(cmsHPROFILE in, cmsUInt32Number from, cmsHPROFILE out, cmsUInt32Number to, cmsUInt32Number intent, cmsUInt32Number flags, size_t step) {
  enum { N = 4000 }; static unsigned char a[N * 8], b[N * 32]; gen_rng r; cmsHTRANSFORM t = cmsCreateTransform(in, from, out, to, intent, flags); size_t i;
  if (!t) { printf("no transform\n"); return; }
  gen_seed(&r, 7 + intent); for (i = 0; i < sizeof a; i++) a[i] = (unsigned char)gen_below(&r, 256);
  memset(b, 0, sizeof b); cmsDoTransform(t, a, b, N); H = gen_hash(b, N * step, H); cmsDeleteTransform(t); printf("%u/%u %016llx\n", (unsigned)intent, (unsigned)flags, H);
}
static cmsInt32Number curve(const cmsUInt16Number in[], cmsUInt16Number out[], void *c) { (void)c; out[0] = (cmsUInt16Number)(65535 - in[0]); out[1] = in[1] / 2; out[2] = (cmsUInt16Number)((in[2] + in[0]) / 2); return 1; }
static void sheet(void) {
  char s[4000]; int i, n = sprintf(s, "IT8.7/2\nORIGINATOR \"x\"\nKEYWORD \"TWO\"\nTWO \"0x10\"\nNUMBER_OF_FIELDS 4\nBEGIN_DATA_FORMAT\nSAMPLE_ID RGB_R RGB_G RGB_B\nEND_DATA_FORMAT\nNUMBER_OF_SETS 60\nBEGIN_DATA\n"); cmsHANDLE h; cmsUInt32Number size = 0; char *out;
  for (i = 0; i < 60; i++) n += sprintf(s + n, "A%d %d.5 %d %d\n", i, i * 3, 255 - i, i * i % 200);
  n += sprintf(s + n, "END_DATA\n"); h = cmsIT8LoadFromMem(NULL, s, (cmsUInt32Number)n); if (!h) { printf("no sheet\n"); return; }
  cmsIT8SetDataRowColDbl(h, 3, 1, 12.25); cmsIT8SaveToMem(h, NULL, &size); out = malloc(size); cmsIT8SaveToMem(h, out, &size); printf("sheet %u %016llx %s %.3f\n", (unsigned)size, (unsigned long long)gen_hash(out, size, 0), cmsIT8GetProperty(h, "ORIGINATOR"), cmsIT8GetDataDbl(h, "A9", "RGB_R")); free(out); cmsIT8Free(h);
}
int main(void) {
  cmsCIExyY d50 = *cmsD50_xyY(), d65; cmsCIExyYTRIPLE prim = {{0.64, 0.33, 1}, {0.21, 0.71, 1}, {0.15, 0.06, 1}}; cmsToneCurve *g[3], *back; cmsHPROFILE rgb = cmsCreate_sRGBProfile(), lab = cmsCreateLab4Profile(NULL), xyz = cmsCreateXYZProfile(), wide, ink, link, again; cmsUInt32Number i, size = 0; unsigned char *mem; cmsHTRANSFORM t; cmsCIELab a = {50, 20, -30}, b = {52, 18, -22}; cmsUInt32Number intents[] = {INTENT_PERCEPTUAL, INTENT_RELATIVE_COLORIMETRIC, INTENT_SATURATION, INTENT_ABSOLUTE_COLORIMETRIC};
  cmsWhitePointFromTemp(&d65, 6504); g[0] = g[1] = g[2] = cmsBuildGamma(NULL, 2.19921875); wide = cmsCreateRGBProfile(&d65, &prim, g); ink = cmsCreateInkLimitingDeviceLink(cmsSigCmykData, 240); (void)d50;
  for (i = 0; i < 4; i++) {
    transform(rgb, TYPE_RGB_8, wide, TYPE_RGB_16, intents[i], 0, 6); transform(wide, TYPE_RGB_16, rgb, TYPE_BGRA_8, intents[i], cmsFLAGS_NOOPTIMIZE, 4); transform(rgb, TYPE_RGB_8, lab, TYPE_Lab_16, intents[i], cmsFLAGS_HIGHRESPRECALC, 6);
    transform(lab, TYPE_Lab_16, rgb, TYPE_RGB_8_PLANAR, intents[i], cmsFLAGS_LOWRESPRECALC, 3); transform(rgb, TYPE_RGB_8, xyz, TYPE_XYZ_16, intents[i], cmsFLAGS_BLACKPOINTCOMPENSATION, 6); }
  transform(ink, TYPE_CMYK_8, NULL, TYPE_CMYK_8, 0, 0, 4);
  t = cmsCreateTransform(rgb, TYPE_RGB_8, wide, TYPE_RGB_8, 0, 0); link = cmsTransform2DeviceLink(t, 4.3, 0); cmsSaveProfileToMem(link, NULL, &size); mem = malloc(size); cmsSaveProfileToMem(link, mem, &size); printf("link %u bytes %016llx\n", (unsigned)size, (unsigned long long)gen_hash(mem + 132, size - 132, 0));
  again = cmsOpenProfileFromMem(mem, size); printf("%d tags, version %.1f\n", (int)cmsGetTagCount(again), cmsGetProfileVersion(again)); transform(again, TYPE_RGB_8, NULL, TYPE_RGB_8, 0, 0, 3); cmsCloseProfile(again); cmsCloseProfile(link); cmsDeleteTransform(t); free(mem);
  printf("%.4f %.4f %.4f %.4f\n", cmsDeltaE(&a, &b), cmsCIE94DeltaE(&a, &b), cmsBFDdeltaE(&a, &b), cmsCIE2000DeltaE(&a, &b, 1, 1, 1)); back = cmsReverseToneCurve(g[0]); printf("%.5f %d %d\n", cmsEstimateGamma(back, 0.01), cmsIsToneCurveMonotonic(back), cmsIsToneCurveLinear(back)); cmsFreeToneCurve(back);
  { cmsPipeline *p = cmsPipelineAlloc(NULL, 3, 3); cmsStage *s = cmsStageAllocCLut16bit(NULL, 9, 3, 3, NULL); cmsUInt16Number in[3] = {1000, 40000, 65000}, out[3]; cmsStageSampleCLut16bit(s, curve, NULL, 0); cmsPipelineInsertStage(p, cmsAT_BEGIN, s); cmsPipelineEval16(in, out, p); printf("%u %u %u\n", out[0], out[1], out[2]); cmsPipelineFree(p); }
  sheet(); cmsFreeToneCurve(g[0]); cmsCloseProfile(rgb); cmsCloseProfile(lab); cmsCloseProfile(xyz); cmsCloseProfile(wide); cmsCloseProfile(ink);
  return 0;
}
