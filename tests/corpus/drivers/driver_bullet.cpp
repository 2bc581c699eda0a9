// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdio>
#include "gen.h"
#include "btBulletDynamicsCommon.h"
#include "BulletCollision/CollisionShapes/btHeightfieldTerrainShape.h"
int main() {
  btDefaultCollisionConfiguration cc; btCollisionDispatcher disp(&cc); btDbvtBroadphase bp; btSequentialImpulseConstraintSolver sol; btDiscreteDynamicsWorld w(&disp, &bp, &sol, &cc); w.setGravity(btVector3(0, -10, 0));
  gen_rng r; gen_seed(&r, 9); btStaticPlaneShape plane(btVector3(0, 1, 0), 0); btRigidBody g(0, 0, &plane); w.addRigidBody(&g);
  btBoxShape box(btVector3(.5f, .5f, .5f)); btSphereShape sph(.5f); btCapsuleShape cap(.3f, .6f); btConvexHullShape hull; for (int i = 0; i < 12; i++) hull.addPoint(btVector3(btScalar(gen_unit(&r) - .5), btScalar(gen_unit(&r) - .5), btScalar(gen_unit(&r) - .5))); btCylinderShape cyl(btVector3(.4f, .5f, .4f));
  btCollisionShape *sh[] = {&box, &sph, &cap, &hull, &cyl}; btAlignedObjectArray<btRigidBody *> bs;
  for (int y = 0; y < 7; y++) for (int x = 0; x < 6; x++) for (int z = 0; z < 6; z++) { btTransform t; t.setIdentity(); t.setOrigin(btVector3(x * 1.05f - 3 + .1f * (y % 2), .6f + y * 1.15f, z * 1.05f - 3)); btCollisionShape *s = sh[(x + 3 * y + 5 * z) % 5]; btVector3 in(0, 0, 0); s->calculateLocalInertia(1.f, in); btRigidBody::btRigidBodyConstructionInfo ci(1.f, 0, s, in); ci.m_startWorldTransform = t; ci.m_friction = .6f; btRigidBody *b = new btRigidBody(ci); w.addRigidBody(b); bs.push_back(b); }
  for (int i = 0; i + 7 < bs.size(); i += 23) w.addConstraint(new btPoint2PointConstraint(*bs[i], *bs[i + 6], btVector3(.6f, 0, 0), btVector3(-.6f, 0, 0)), true);
  for (int s = 0; s < 800; s++) { w.stepSimulation(1.f / 60.f, 1, 1.f / 60.f);
    if (s % 160 == 159) { uint64_t H = 0; for (int i = 0; i < bs.size(); i++) { const btVector3 &o = bs[i]->getWorldTransform().getOrigin(); float f[3] = {(float)o.x(), (float)o.y(), (float)o.z()}; H = gen_hash(f, sizeof f, H); } printf("step %d pairs %d manifolds %d hash %016llx\n", s + 1, bp.getOverlappingPairCache()->getNumOverlappingPairs(), disp.getNumManifolds(), (unsigned long long)H); } }
  long hits = 0; for (int i = 0; i < 60000; i++) { btVector3 a(btScalar(gen_unit(&r) * 12 - 6), 14, btScalar(gen_unit(&r) * 12 - 6)), b(a.x(), -1, a.z()); btCollisionWorld::ClosestRayResultCallback c(a, b); w.rayTest(a, b, c); hits += c.hasHit() ? 1 + (long)(c.m_closestHitFraction * 1000) : 0; } printf("rays %ld\n", hits);
  fflush(stdout); _Exit(0);
}
