-- Heavy payloads: POST /sink with a random body of 1 to 9.4 MB, one in five with a 40 kB header.
dofile(debug.getinfo(1, "S").source:match("@(.*/)") .. "common.lua")

function prepare()
   local list = {}
   for i, length in ipairs(random_lengths(10, 1000000, 9400000)) do
      local headers = {["Content-Type"] = "application/octet-stream"}
      if i % 5 == 0 then
         headers["X-Large-Header"] = random_text(40000)
      end
      table.insert(list, wrk.format("POST", "/sink", headers, random_text(length)))
   end
   return list
end
