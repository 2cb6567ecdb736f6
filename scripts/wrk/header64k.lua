-- GET / with a field of 64 kB.
dofile(debug.getinfo(1, "S").source:match("@(.*/)") .. "common.lua")

function prepare()
   return {wrk.format("GET", "/", {["X-Large-Header"] = random_text(64000)})}
end
