// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For interpreters of ECMAScript 5; the global function `print` takes one string.
var lines = [];
function say(name, value) { lines.push(name + " " + value); }
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
say("fib", fib(20));
(function sieve() {
  var flags = [], count = 0, i, k;
  for (i = 2; i < 20000; i++) flags[i] = true;
  for (i = 2; i < 20000; i++) if (flags[i]) { count++; for (k = i + i; k < 20000; k += i) flags[k] = false; }
  say("primes", count);
})();
function Point(x, y) { this.x = x; this.y = y; }
Point.prototype.add = function (o) { return new Point(this.x + o.x, this.y + o.y); };
Point.prototype.toString = function () { return "(" + this.x + "," + this.y + ")"; };
(function objects() {
  var p = new Point(0, 0), i, map = {}, keys;
  for (i = 0; i < 5000; i++) { p = p.add(new Point(i % 7, i % 11)); map["k" + (i * 31 % 997)] = i; }
  keys = Object.keys(map).sort();
  say("point", p); say("keys", keys.length + keys[100] + map[keys[500]]);
})();
(function strings() {
  var s = "", i, words, seen = {}, n = 0;
  for (i = 0; i < 3000; i++) s += String.fromCharCode(97 + i * i % 26) + (i % 9 ? "" : " ");
  words = s.split(" ");
  for (i = 0; i < words.length; i++) seen[words[i]] = (seen[words[i]] || 0) + 1;
  for (i in seen) n += seen[i] * i.length;
  say("words", n); say("replace", s.replace(/([aeiou])(\w)/g, "$2$1").substring(0, 40));
  say("match", s.match(/[a-m]{3,}/g).length); say("upper", s.toUpperCase().indexOf("XYZ") + s.lastIndexOf("a"));
})();
(function numbers() {
  var x = 0, i;
  for (i = 1; i < 3000; i++) x += Math.sqrt(i) * (i % 3 ? 1 : -1) + (i >> 2 ^ i << 1) % 5;
  say("float", x.toFixed(6)); say("formats", [255..toString(16), (0.1 + 0.2).toPrecision(5), 1e21, -1 / 0, parseInt("7f", 16), parseFloat("3.25e2x")].join());
})();
(function functions() {
  function compose(f, g) { return function (x) { return f(g(x)); }; }
  var f = function (x) { return x + 1; }, i, list;
  for (i = 0; i < 50; i++) f = compose(f, function (x) { return x * 3 % 1009; });
  list = []; for (i = 0; i < 2000; i++) list.push(i * 7919 % 2003);
  say("compose", f(5));
  say("array", list.sort(function (a, b) { return a - b; }).map(function (x) { return x * 2; }).filter(function (x) { return x % 3 === 0; }).reduce(function (a, b) { return (a * 31 + b) % 65521; }, 7));
})();
(function errors() {
  var caught = 0, i;
  for (i = 0; i < 500; i++) try { if (i % 3 === 0) throw new TypeError("t" + i); if (i % 3 === 1) null.x; undefinedFunction(); } catch (e) { caught += e instanceof TypeError ? 1 : 2; } finally { caught += 3; }
  say("caught", caught);
})();
(function json() {
  var o = { a: [1, 2.5, "x\n\u00e4", null, true], b: { c: {} } }, text = JSON.stringify(o), i;
  for (i = 0; i < 200; i++) text = JSON.stringify(JSON.parse(text));
  say("json", text);
})();
print(lines.join("\n"));
