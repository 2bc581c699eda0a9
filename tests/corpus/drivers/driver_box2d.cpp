// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdio>
#include "gen.h"
#include "box2d/box2d.h"
int main() {
  b2World w(b2Vec2(0.0f, -10.0f)); gen_rng r; gen_seed(&r, 5);
  { b2BodyDef bd; b2Body *g = w.CreateBody(&bd); b2EdgeShape e; e.SetTwoSided(b2Vec2(-60, 0), b2Vec2(60, 0)); g->CreateFixture(&e, 0.0f);
    b2EdgeShape l; l.SetTwoSided(b2Vec2(-30, 0), b2Vec2(-30, 60)); g->CreateFixture(&l, 0.0f); l.SetTwoSided(b2Vec2(30, 0), b2Vec2(30, 60)); g->CreateFixture(&l, 0.0f); }
  b2PolygonShape box; box.SetAsBox(0.5f, 0.5f); b2CircleShape c; c.m_radius = 0.45f; b2Body *prev = 0;
  const int N = 24; b2Vec2 x(-7.0f, 0.75f), y;
  for (int i = 0; i < N; ++i) { y = x; for (int j = i; j < N; ++j) { b2BodyDef bd; bd.type = b2_dynamicBody; bd.position = y; b2Body *b = w.CreateBody(&bd);
      if ((i + j) % 5 == 0) b->CreateFixture(&c, 3.0f); else b->CreateFixture(&box, 5.0f); y += b2Vec2(1.125f, 0.0f); } x += b2Vec2(0.5625f, 1.25f); }
  for (int i = 0; i < 40; ++i) { b2BodyDef bd; bd.type = b2_dynamicBody; bd.position.Set(-20.0f + i, 40.0f + 0.25f * (i % 7)); bd.angularDamping = 0.1f; b2Body *b = w.CreateBody(&bd); b->CreateFixture(i % 2 ? (b2Shape *)&box : (b2Shape *)&c, 1.0f + (float)gen_unit(&r));
    if (prev) { b2RevoluteJointDef jd; jd.Initialize(prev, b, b2Vec2(-20.5f + i, 40.0f)); w.CreateJoint(&jd); } prev = b; }
  long contacts = 0;
  for (int s = 0; s < 3000; ++s) { w.Step(1.0f / 60.0f, 8, 3); contacts += w.GetContactCount();
    if (s % 500 == 499) { uint64_t H = 0; for (b2Body *b = w.GetBodyList(); b; b = b->GetNext()) { b2Transform t = b->GetTransform(); H = gen_hash(&t.p, sizeof t.p, H); H = gen_hash(&t.q, sizeof t.q, H); }
      printf("step %d contacts %ld hash %016llx\n", s + 1, contacts, (unsigned long long)H); } }
  return 0;
}
