-- SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
-- CPU-bound mix: recursion, floats, tables, strings, closures, coroutines. Prints only deterministic text.
local function fib(n) if n < 2 then return n end return fib(n-1) + fib(n-2) end
print("fib", fib(31))
local function nbody(n)
  local b = {{0,0,0,0,0,0,39.47},{4.84,-1.16,-0.10,0.60,2.81,-0.02,0.037},{8.34,4.12,-4.03e-1,-1.01,1.82,8.4e-3,0.011},{12.89,-15.11,-0.22,1.08,0.86,-0.01,0.0017}}
  for _=1,n do
    for i=1,#b do local p=b[i] for j=i+1,#b do local q=b[j]
      local dx,dy,dz=p[1]-q[1],p[2]-q[2],p[3]-q[3]
      local d2=dx*dx+dy*dy+dz*dz local m=0.01/(d2*math.sqrt(d2))
      p[4]=p[4]-dx*q[7]*m p[5]=p[5]-dy*q[7]*m p[6]=p[6]-dz*q[7]*m
      q[4]=q[4]+dx*p[7]*m q[5]=q[5]+dy*p[7]*m q[6]=q[6]+dz*p[7]*m end end
    for i=1,#b do local p=b[i] p[1]=p[1]+0.01*p[4] p[2]=p[2]+0.01*p[5] p[3]=p[3]+0.01*p[6] end
  end
  return string.format("%.9f %.9f %.9f", b[1][1], b[2][2], b[4][3])
end
print("nbody", nbody(160000))
local function sieve(n) local t={} for i=2,n do t[i]=true end
  for i=2,math.floor(n^0.5) do if t[i] then for j=i*i,n,i do t[j]=false end end end
  local c=0 for i=2,n do if t[i] then c=c+1 end end return c end
print("sieve", sieve(2000000))
local seed=42
local function rnd() seed=(seed*1103515245+12345)%2147483648 return seed end
local t={} for i=1,250000 do t[i]=rnd() end
table.sort(t, function(a,b) return a<b end)
local h=0 for i=1,#t,997 do h=(h*31+t[i])%1000000007 end print("sort", h)
local words={} for i=1,200000 do words[i]=string.format("%x-%d", rnd(), i%97) end
local s=table.concat(words," ") local cnt=0
for a,b in s:gmatch("(%x+)%-(%d+)") do if #a+tonumber(b)>50 then cnt=cnt+1 end end
local up=s:gsub("%d+", function(d) return #d end) print("string", cnt, #up)
local co=coroutine.wrap(function() local a,b=0,1 while true do coroutine.yield(a) a,b=b,(a+b)%1000003 end end)
local acc=0 for _=1,600000 do acc=(acc+co())%1000003 end print("coro", acc)
local mt={__add=function(a,b) return setmetatable({v=a.v+b.v},getmetatable(a)) end,__index=function(_,k) return #k end}
local o=setmetatable({v=0},mt) for i=1,800000 do o=o+setmetatable({v=i%7},mt) end print("meta", o.v, o.hello)
