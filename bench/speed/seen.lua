-- What the search for speed runs: calls, tables, strings, closures.
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
local sum = fib(22)
local words = {}
for i = 1, 4000 do words[i] = string.format("%05d", (i * 7919) % 10007) end
table.sort(words)
local text = table.concat(words, " ")
local count = 0
for word in text:gmatch("%d+") do count = count + #word end
local grid = {}
for i = 1, 90 do
  grid[i] = {}
  for j = 1, 90 do grid[i][j] = (i * j) % 17 end
end
for _ = 1, 6 do
  for i = 2, 89 do
    for j = 2, 89 do grid[i][j] = (grid[i - 1][j] + grid[i + 1][j] + grid[i][j - 1]) % 97 end
  end
end
local function counter() local n = 0 return function() n = n + 1 return n end end
local next_number = counter()
for _ = 1, 60000 do next_number() end
print(sum, count, grid[45][45], next_number(), (text:gsub("1", "one")):len())
