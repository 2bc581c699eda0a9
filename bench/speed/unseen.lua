-- What it does not run: floating-point numbers, objects, queens, string buffers.
local Body = {}
Body.__index = Body
function Body.new(x, v) return setmetatable({x = x, v = v}, Body) end
function Body:step(force) self.v = self.v + force * 0.01; self.x = self.x + self.v * 0.01 end
local bodies = {}
for i = 1, 12 do bodies[i] = Body.new(i * 1.5, 0) end
for _ = 1, 400 do
  for i, one in ipairs(bodies) do
    local force = 0
    for j, other in ipairs(bodies) do
      if i ~= j then local d = other.x - one.x; force = force + d / (math.abs(d) ^ 3 + 0.1) end
    end
    one:step(force)
  end
end
local found = 0
local function place(row, n, columns, left, right)
  if row > n then found = found + 1 return end
  for column = 1, n do
    if not columns[column] and not left[row + column] and not right[row - column + n] then
      columns[column], left[row + column], right[row - column + n] = true, true, true
      place(row + 1, n, columns, left, right)
      columns[column], left[row + column], right[row - column + n] = nil, nil, nil
    end
  end
end
place(1, 7, {}, {}, {})
local parts = {}
for i = 1, 20000 do parts[#parts + 1] = string.char(97 + i % 26):rep(i % 3) end
local joined = table.concat(parts)
print(string.format("%.6f", bodies[5].x), found, #joined, joined:find("zzaab", 1, true), joined:upper():byte(77))
