-- Warm-up and baseline: GET / and nothing else; a file where one is asked for.
dofile(debug.getinfo(1, "S").source:match("@(.*/)") .. "common.lua")

function prepare()
   return {wrk.format("GET", wrk.path)}
end
