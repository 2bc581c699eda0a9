// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cmath>
#include <cstdio>
#include <string>
#include "GeographicLib/AlbersEqualArea.hpp"
#include "GeographicLib/AzimuthalEquidistant.hpp"
#include "GeographicLib/CassiniSoldner.hpp"
#include "GeographicLib/DMS.hpp"
#include "GeographicLib/Ellipsoid.hpp"
#include "GeographicLib/GARS.hpp"
#include "GeographicLib/GeoCoords.hpp"
#include "GeographicLib/Geocentric.hpp"
#include "GeographicLib/Geodesic.hpp"
#include "GeographicLib/GeodesicExact.hpp"
#include "GeographicLib/GeodesicLine.hpp"
#include "GeographicLib/Geohash.hpp"
#include "GeographicLib/Georef.hpp"
#include "GeographicLib/Gnomonic.hpp"
#include "GeographicLib/LambertConformalConic.hpp"
#include "GeographicLib/LocalCartesian.hpp"
#include "GeographicLib/MGRS.hpp"
#include "GeographicLib/OSGB.hpp"
#include "GeographicLib/PolygonArea.hpp"
#include "GeographicLib/Rhumb.hpp"
#include "GeographicLib/TransverseMercatorExact.hpp"
#include "GeographicLib/UTMUPS.hpp"
#include "gen.h"
using namespace GeographicLib;
static uint64_t H;
static void see(double v) { const long long rounded = std::isfinite(v) ? std::llround(v * 16) : -7; H = gen_hash(&rounded, sizeof rounded, H); }
static void see(const std::string &s) { H = gen_hash(s.data(), s.size(), H); }
static void show(const char *what) { printf("%s %016llx\n", what, (unsigned long long)H); }
int main() {
  gen_rng r; gen_seed(&r, 54); const Geodesic &g = Geodesic::WGS84(); const GeodesicExact &x = GeodesicExact::WGS84(); const Rhumb &rhumb = Rhumb::WGS84(); const TransverseMercatorExact &tm = TransverseMercatorExact::UTM();
  auto lat = [&] { return gen_unit(&r) * 170 - 85; }; auto lon = [&] { return gen_unit(&r) * 358 - 179; }; double a, b, c, d, e, f, k;
  for (int i = 0; i < 20000; i++) { const double p = lat(), q = lon(), s = lat(), t = lon(); g.Inverse(p, q, s, t, a, b, c); see(a), see(b * 1e3); g.Direct(p, q, b, a / 2, d, e, f); see(d * 1e5), see(e * 1e5); rhumb.Inverse(p, q, s, t, a, b); see(a); if (i % 10 == 0) { x.Inverse(p, q, s, t, a, b, c); see(a); tm.Forward(9, p / 2, 9 + q / 30, a, b, c, k); see(a), see(b); tm.Reverse(9, a, b, d, e, c, k); see(d * 1e5); } }
  show("geodesics");
  const Geocentric &earth = Geocentric::WGS84(); const LocalCartesian local(48.8, 2.3, 30); const AzimuthalEquidistant azimuthal; const Gnomonic gnomonic; const CassiniSoldner cassini(10, 20); const LambertConformalConic conic(Constants::WGS84_a(), Constants::WGS84_f(), 30, 60, 1); const AlbersEqualArea albers(Constants::WGS84_a(), Constants::WGS84_f(), 20, 50, 1);
  for (int i = 0; i < 5000; i++) { const double p = lat(), q = lon(), h = gen_unit(&r) * 9000; earth.Forward(p, q, h, a, b, c); see(a); earth.Reverse(a * 1.1, b, c, d, e, f); see(d * 1e5), see(f); local.Forward(p, q, h, a, b, c); see(a); azimuthal.Forward(10, 20, p, q, a, b); see(a); gnomonic.Forward(p, q, p + 5, q + 5, a, b); see(a); cassini.Forward(p, q, a, b); see(b); conic.Forward(0, p, q, a, b); see(a); conic.Reverse(0, a, b, d, e); see(d * 1e5); albers.Forward(0, p, q, a, b); see(b); albers.Reverse(0, a, b, d, e); see(d * 1e5); }
  show("projections");
  for (int i = 0; i < 2500; i++) { const GeoCoords here(lat(), lon()); see(here.MGRSRepresentation(2)); see(here.UTMUPSRepresentation(1)); see(here.DMSRepresentation(2)); see(here.GeoRepresentation(3)); std::string s; Geohash::Forward(here.Latitude(), here.Longitude(), 9, s); see(s); Georef::Forward(here.Latitude(), here.Longitude(), 3, s); see(s); GARS::Forward(here.Latitude(), here.Longitude(), 2, s); see(s); OSGB::Forward(49 + gen_unit(&r) * 10, gen_unit(&r) * 5 - 5, a, b, c, k); see(a); }
  show("grids");
  int wrong = 0; for (const char *s : {"38SMB4488", "33.3 44.4", "44d10'3\"N 7d4'E", "n 445000 3684000", "40:26:46N 79:58:56W", "1 2 3", "38SMB448", "99 9", "4.5e1 x", "ZAB12"}) try { const GeoCoords there((std::string(s))); printf("%s: %s\n", s, there.MGRSRepresentation(0).c_str()); } catch (const GeographicErr &error) { wrong++; see(std::string(error.what())); }
  PolygonArea polygon(g); for (int i = 0; i < 200; i++) polygon.AddPoint(lat() / 3, -170 + i * 1.5); const unsigned n = polygon.Compute(false, true, a, b); see(a), see(b / 1e6); const Ellipsoid &ellipsoid = Ellipsoid::WGS84(); see(ellipsoid.Area() / 1e6); see(ellipsoid.QuarterMeridian()); see(ellipsoid.ConformalLatitude(40) * 1e6);
  printf("%d wrong, %u points, %.1f m\n", wrong, n, a); show("all");
  return 0;
}
