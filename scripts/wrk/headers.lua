-- Header stress: GET / with a random X-Large-Header of 10 to 60 kB.
dofile(debug.getinfo(1, "S").source:match("@(.*/)") .. "common.lua")

function prepare()
   local list = {}
   for _, length in ipairs(random_lengths(40, 10000, 60000)) do
      table.insert(list, wrk.format("GET", "/", {["X-Large-Header"] = random_text(length)}))
   end
   return list
end
