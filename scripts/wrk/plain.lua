-- Warm-up and baseline: GET / and nothing else.
dofile(debug.getinfo(1, "S").source:match("@(.*/)") .. "common.lua")

function prepare()
   return {wrk.format("GET", "/")}
end
