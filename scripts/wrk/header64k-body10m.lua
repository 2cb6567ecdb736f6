-- POST /sink with a field of 64 kB and a body of 10 MB.
dofile(debug.getinfo(1, "S").source:match("@(.*/)") .. "common.lua")

function prepare()
   local headers = {["X-Large-Header"] = random_text(64000)}
   return {wrk.format("POST", "/sink", headers, random_text(10000000))}
end
