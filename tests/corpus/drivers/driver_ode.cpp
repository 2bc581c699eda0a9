// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdio>
#include "gen.h"
#include "ode/ode.h"
static dWorldID world; static dSpaceID space; static dJointGroupID contacts; static long hits;
static void near(void *, dGeomID a, dGeomID b) { dBodyID x = dGeomGetBody(a), y = dGeomGetBody(b); if (x && y && dAreConnectedExcluding(x, y, dJointTypeContact)) return; dContact c[6]; int n = dCollide(a, b, 6, &c[0].geom, sizeof(dContact)); for (int i = 0; i < n; i++) { hits++; c[i].surface.mode = dContactBounce | dContactSoftCFM; c[i].surface.mu = 0.5; c[i].surface.bounce = 0.1; c[i].surface.bounce_vel = 0.1; c[i].surface.soft_cfm = 0.01; dJointAttach(dJointCreateContact(world, contacts, &c[i]), x, y); } }
static void run(int quick, int kind) {
  gen_rng r; gen_seed(&r, 45); world = dWorldCreate(); space = kind == 0 ? dHashSpaceCreate(0) : kind == 1 ? dSweepAndPruneSpaceCreate(0, dSAP_AXES_XYZ) : dSimpleSpaceCreate(0); contacts = dJointGroupCreate(0); dWorldSetGravity(world, 0, 0, -9.81); dWorldSetAutoDisableFlag(world, kind == 1); dCreatePlane(space, 0, 0, 1, 0); hits = 0; dBodyID last = nullptr; dBodyID bodies[60]; dRandSetSeed(9);
  for (int i = 0; i < 60; i++) { dBodyID b = bodies[i] = dBodyCreate(world); dMass m; dGeomID g; double s = 0.2 + gen_unit(&r) * 0.3; dBodySetPosition(b, gen_unit(&r) * 3, gen_unit(&r) * 3, 1 + i * 0.2); dMatrix3 q; dRFromAxisAndAngle(q, gen_unit(&r), gen_unit(&r), gen_unit(&r) + 0.1, gen_unit(&r) * 3); dBodySetRotation(b, q);
    switch (i % 4) { case 0: g = dCreateSphere(space, s); dMassSetSphere(&m, 1, s); break; case 1: g = dCreateBox(space, s, 2 * s, s); dMassSetBox(&m, 1, s, 2 * s, s); break; case 2: g = dCreateCapsule(space, s / 2, s); dMassSetCapsule(&m, 1, 3, s / 2, s); break; default: g = dCreateCylinder(space, s, s); dMassSetCylinder(&m, 1, 3, s, s); }
    dGeomSetBody(g, b); dBodySetMass(b, &m);
    if (last && i % 5 == 0) { dJointID j; switch (i / 5 % 6) { case 0: j = dJointCreateBall(world, 0); dJointAttach(j, b, last); dJointSetBallAnchor(j, 1, 1, 2); break; case 1: j = dJointCreateHinge(world, 0); dJointAttach(j, b, last); dJointSetHingeAnchor(j, 1, 1, 2); dJointSetHingeAxis(j, 0, 1, 0); dJointSetHingeParam(j, dParamVel, 1); dJointSetHingeParam(j, dParamFMax, 2); break; case 2: j = dJointCreateSlider(world, 0); dJointAttach(j, b, last); dJointSetSliderAxis(j, 1, 0, 0); dJointSetSliderParam(j, dParamHiStop, 1); break; case 3: j = dJointCreateUniversal(world, 0); dJointAttach(j, b, last); dJointSetUniversalAnchor(j, 1, 1, 2); break; case 4: j = dJointCreateHinge2(world, 0); dJointAttach(j, b, last); dJointSetHinge2Anchor(j, 1, 1, 2); break; default: j = dJointCreateFixed(world, 0); dJointAttach(j, b, last); dJointSetFixed(j); } }
    last = b; }
  for (int step = 0; step < 150; step++) { dSpaceCollide(space, nullptr, near); if (quick) dWorldQuickStep(world, 0.01); else dWorldStep(world, 0.01); dJointGroupEmpty(contacts); }
  double low = 1e9, high = -1e9; for (dBodyID b : bodies) { const dReal *p = dBodyGetPosition(b); low = p[2] < low ? p[2] : low; high = p[2] > high ? p[2] : high; } printf("%d %d: touched %d above ground %d below start %d\n", quick, kind, hits > 500, low > -1.5, high < 14);
  dJointGroupDestroy(contacts); dSpaceDestroy(space); dWorldDestroy(world);
}
int main() { dInitODE2(0); for (int kind = 0; kind < 3; kind++) { run(1, kind); run(0, kind); } dCloseODE(); return 0; }
