-- GET / on a connection that is not kept.
dofile(debug.getinfo(1, "S").source:match("@(.*/)") .. "common.lua")

function prepare()
   wrk.headers["Connection"] = "close"
   return {wrk.format("GET", wrk.path)}
end
