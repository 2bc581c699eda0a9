// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <stdio.h>
#include "gen.h"
#include "bearssl.h"
static void show(const char *name, const void *p, size_t n) { printf("%s %016llx\n", name, (unsigned long long)gen_hash(p, n, 0)); }
int main(void) {
  size_t n = 1u << 20, i; unsigned char *s = malloc(n), out[600] = {0}, key[32], iv[16], tag[32]; /* as long as the longest of what is written there */ gen_rng r;
  const br_hash_class *hashes[] = {&br_md5_vtable, &br_sha1_vtable, &br_sha224_vtable, &br_sha256_vtable, &br_sha384_vtable, &br_sha512_vtable};
  const br_block_cbcenc_class *cbc[] = {&br_aes_big_cbcenc_vtable, &br_aes_small_cbcenc_vtable, &br_aes_ct_cbcenc_vtable, &br_aes_ct64_cbcenc_vtable, &br_des_tab_cbcenc_vtable, &br_des_ct_cbcenc_vtable};
  gen_text((char *)s, n, 32); gen_seed(&r, 33); for (i = 0; i < 32; i++) key[i] = (unsigned char)gen_u64(&r); memset(iv, 3, 16);
  for (i = 0; i < 6; i++) { br_hash_compat_context c; br_hmac_key_context k; br_hmac_context h; hashes[i]->init(&c.vtable); hashes[i]->update(&c.vtable, s, n); hashes[i]->out(&c.vtable, out); show("hash", out, 20); br_hmac_key_init(&k, hashes[i], key, 32); br_hmac_init(&h, &k, 0); br_hmac_update(&h, s, n / 4); br_hmac_out(&h, out); show("hmac", out, 16); }
  for (i = 0; i < 6; i++) { union { const br_block_cbcenc_class *vtable; char room[2000]; } c; unsigned char v[16]; memset(v, 5, 16); cbc[i]->init(&c.vtable, key, i < 4 ? 32 : 24); cbc[i]->run(&c.vtable, v, s, n / 8); show("cbc", s, n / 8); }
  { br_aes_ct_ctr_keys c; br_gcm_context g; br_aes_ct_ctr_init(&c, key, 16); br_gcm_init(&g, &c.vtable, br_ghash_ctmul64); br_gcm_reset(&g, iv, 12); br_gcm_aad_inject(&g, key, 32); br_gcm_flip(&g); br_gcm_run(&g, 1, s, n / 8); br_gcm_get_tag(&g, tag); show("gcm", tag, 16); }
  br_poly1305_ctmul_run(key, iv, s, n / 4, key, 32, tag, br_chacha20_ct_run, 1); show("chapoly", tag, 16);
  { br_hmac_drbg_context d; br_hmac_drbg_init(&d, &br_sha256_vtable, "seed", 4); br_hmac_drbg_generate(&d, out, 200); show("drbg", out, 200);
    static const int curves[] = {BR_EC_secp256r1, BR_EC_secp384r1, BR_EC_secp521r1}; unsigned char priv[BR_EC_KBUF_PRIV_MAX_SIZE], pub[BR_EC_KBUF_PUB_MAX_SIZE], sig[200]; br_ec_private_key sk; br_ec_public_key pk; size_t l;
    for (i = 0; i < 3; i++) { const br_ec_impl *impls[] = {&br_ec_prime_i31, &br_ec_prime_i15}; const br_ec_impl *ec = impls[i & 1]; br_ec_keygen(&d.vtable, ec, &sk, priv, curves[i]); br_ec_compute_pub(ec, &pk, pub, &sk); l = br_ecdsa_i31_sign_asn1(ec, &br_sha256_vtable, out, &sk, sig); show("sign", sig, l); printf("verify %u", (unsigned)br_ecdsa_i31_vrfy_asn1(ec, out, 32, &pk, sig, l)); out[0] ^= 1; printf(" %u\n", (unsigned)br_ecdsa_i31_vrfy_asn1(ec, out, 32, &pk, sig, l)); }
    { unsigned char g[32] = {9}; memcpy(out, key, 32); for (i = 0; i < 20; i++) br_ec_c25519_i31.mul(g, 32, out, 32, BR_EC_curve25519); show("x25519", g, 32); }
    { unsigned char a[BR_RSA_KBUF_PRIV_SIZE(1024)], b[BR_RSA_KBUF_PUB_SIZE(1024)], x[128]; br_rsa_private_key rs; br_rsa_public_key rp; printf("keygen %u", (unsigned)br_rsa_i31_keygen(&d.vtable, &rs, a, &rp, b, 1024, 3)); br_rsa_i31_pkcs1_sign(BR_HASH_OID_SHA256, out, 32, &rs, x); printf(" verify %u\n", (unsigned)br_rsa_i31_pkcs1_vrfy(x, 128, BR_HASH_OID_SHA256, 32, &rp, tag - 0)); show("rsa", x, 128); } }
  free(s);
  return 0;
}
