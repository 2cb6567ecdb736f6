-- What every phase shares. A phase defines prepare(), which gives the list of requests that its
-- thread sends over and over; they are made before the clock starts, from a seed of the thread's.

local threads = {}
sent = 0
depth = 1 -- how many requests each of them holds

function setup(thread)
   table.insert(threads, thread)
   thread:set("seed", #threads)
end

function init()
   math.randomseed(seed)
   requests = prepare()
end

function request()
   sent = sent + 1
   return requests[sent % #requests + 1]
end

-- Random letters and digits. Longer ones repeat a block of 64 KiB: making more would let the first
-- thread run ahead of the others, and no server here looks at what it is sent.
local alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
local block

local function random_block()
   local letters = {}
   for i = 1, 65536 do
      local at = math.random(#alphabet)
      letters[i] = alphabet:sub(at, at)
   end
   return table.concat(letters)
end

function random_text(length)
   block = block or random_block()
   local from = math.random(#block)
   local turned = block:sub(from) .. block:sub(1, from - 1)
   return turned:rep(math.ceil(length / #turned)):sub(1, length)
end

-- `count` random lengths from `low` to `high` bytes, one from each of as many equal parts of the
-- range and in random order: a slow server that sends few of them has done the same mean work.
function random_lengths(count, low, high)
   local lengths = {}
   for i = 1, count do
      local length = math.floor(low + (high - low) * (i - 1 + math.random()) / count)
      table.insert(lengths, math.random(#lengths + 1), length)
   end
   return lengths
end

-- One line of JSON, after wrk's own text. Times are in microseconds, as wrk keeps them; the
-- percentiles are the ones that wrk has corrected for its own stalls.
function done(summary, latency)
   local total, together = 0, 1
   for _, thread in ipairs(threads) do
      total = total + thread:get("sent")
      together = thread:get("depth")
   end
   local errors = summary.errors
   local line = '{"requests":%.0f,"sent":%.0f,"depth":%.0f,"duration_us":%.0f,"bytes":%.0f,' ..
      '"latency_us":{"p50":%.0f,"p90":%.0f,"p99":%.0f,"max":%.0f},' ..
      '"errors":{"connect":%.0f,"read":%.0f,"write":%.0f,"timeout":%.0f,"status":%.0f}}\n'
   io.write(line:format(
      summary.requests, total, together, summary.duration, summary.bytes,
      latency:percentile(50), latency:percentile(90), latency:percentile(99), latency.max,
      errors.connect, errors.read, errors.write, errors.timeout, errors.status))
end
