-- GET / sixteen times, sent together.
dofile(debug.getinfo(1, "S").source:match("@(.*/)") .. "common.lua")

depth = 16

function prepare()
   return {wrk.format("GET", "/"):rep(depth)}
end
