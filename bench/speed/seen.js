// What the search for speed runs: calls, arrays, strings, closures.
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
var words = [], i, j, k, sum = fib(19);
for (i = 0; i < 1200; ++i) words.push("w" + (i * 7919) % 10007);
words.sort();
var count = words.join(" ").split("7").length;
var grid = [];
for (i = 0; i < 50; ++i) { grid[i] = []; for (j = 0; j < 50; ++j) grid[i][j] = (i * j) % 17; }
for (k = 0; k < 5; ++k)
  for (i = 1; i < 49; ++i)
    for (j = 1; j < 49; ++j) grid[i][j] = (grid[i - 1][j] + grid[i + 1][j] + grid[i][j - 1]) % 97;
function counter() { var n = 0; return function () { return ++n; }; }
var next = counter();
for (i = 0; i < 20000; ++i) next();
print(sum, count, grid[25][25], next());
