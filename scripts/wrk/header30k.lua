-- GET / with a field of 30 kB.
dofile(debug.getinfo(1, "S").source:match("@(.*/)") .. "common.lua")

function prepare()
   return {wrk.format("GET", "/", {["X-Large-Header"] = random_text(30000)})}
end
