-- GET /, and at the end how many answers took how many microseconds: histograms can be merged, and
-- percentiles cannot.
dofile(debug.getinfo(1, "S").source:match("@(.*/)") .. "plain.lua")

local summarise = done

function done(summary, latency)
   local counts = {}
   for i = 1, #latency do
      counts[i] = ("[%d,%d]"):format(latency(i))
   end
   io.write('{"histogram":[' .. table.concat(counts, ",") .. "]}\n")
   summarise(summary, latency)
end
