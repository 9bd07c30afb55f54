package nodetest

// RedsyncDelete is the script with which redsync v4.18.1 gives a lock back.
const RedsyncDelete = `
	local val = redis.call("GET", KEYS[1])
	if val == ARGV[1] then
		return redis.call("DEL", KEYS[1])
	elseif val == false then
		return -1
	else
		return 0
	end
`

// LibraryScript is a script of a lock library, with what its words are: keys (k, h, z), and kinds of arguments.
type LibraryScript struct{ Text, keys, args string }

const redlockExtend = `
	local replies = {}
	for i, key in ipairs(KEYS) do
		if redis.call("get", key) ~= ARGV[1] then return 0 end
	end
	for i, key in ipairs(KEYS) do redis.call("pexpire", key, ARGV[2]) end
	return #KEYS`

// LibraryScripts are those of redsync v4.18.1, redislock v0.9.4, rueidislock v1.0.79, go-zero
// v1.10.3, Redisson and node-redlock.
var LibraryScripts = []LibraryScript{
	{ // redsync delete
		RedsyncDelete, "k", "v"},
	{ // redsync touch
		`
	if redis.call("GET", KEYS[1]) == ARGV[1] then
		return redis.call("PEXPIRE", KEYS[1], ARGV[2])
	else
		return 0
	end
`, "k", "v ms"},
	{ // redsync touch with SET NX
		`
	if redis.call("GET", KEYS[1]) == ARGV[1] then
		return redis.call("PEXPIRE", KEYS[1], ARGV[2])
	elseif redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2], "NX") then
		return 1
	else
		return 0
	end
`, "k", "v ms"},
	{ // redislock refresh
		`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) else return 0 end`,
		"k", "v ms"},
	{ // redislock release
		`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end`, "k", "v"},
	{ // redislock ttl
		`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pttl", KEYS[1]) else return -3 end`, "k", "v"},
	{ // redislock obtain
		`
if redis.call("set", KEYS[1], ARGV[1], "NX", "PX", ARGV[3]) then return redis.status_reply("OK") end

local offset = tonumber(ARGV[2])
if redis.call("getrange", KEYS[1], 0, offset-1) == string.sub(ARGV[1], 1, offset) then ` +
			`return redis.call("set", KEYS[1], ARGV[1], "PX", ARGV[3]) end
`, "k", "v 1 ms"},
	{ // rueidislock delkey
		`if redis.call("GET",KEYS[1]) == ARGV[1] then return redis.call("DEL",KEYS[1]) end;return 0`, "k", "v"},
	{ // rueidislock extend
		`if redis.call("GET",KEYS[1]) == ARGV[1] then ` +
			`local r = redis.call("PEXPIREAT",KEYS[1],ARGV[2]);redis.call("GET",KEYS[1]);return r end;return 0`, "k", "v atms"},
	{ // rueidislock acqms
		`local r = redis.call("SET",KEYS[1],ARGV[1],"NX","PX",ARGV[2]);redis.call("GET",KEYS[1]);return r`, "k", "v ms"},
	{ // rueidislock acqat
		`local r = redis.call("SET",KEYS[1],ARGV[1],"NX","PXAT",ARGV[2]);redis.call("GET",KEYS[1]);return r`,
		"k", "v atms"},
	{ // rueidislock fcqms
		`local r = redis.call("SET",KEYS[1],ARGV[1],"PX",ARGV[2]);redis.call("GET",KEYS[1]);return r`, "k", "v ms"},
	{ // go-zero lock
		`if redis.call("GET", KEYS[1]) == ARGV[1] then
    redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2])
    return "OK"
else
    return redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2])
end`, "k", "v ms"},
	{ // go-zero del
		`if redis.call("GET", KEYS[1]) == ARGV[1] then
    return redis.call("DEL", KEYS[1])
else
    return 0
end`, "k", "v"},
	{ // Redisson lock
		`if ((redis.call('exists', KEYS[1]) == 0) or (redis.call('hexists', KEYS[1], ARGV[2]) == 1)) then
redis.call('hincrby', KEYS[1], ARGV[2], 1); redis.call('pexpire', KEYS[1], ARGV[1]); return nil; end; ` +
			`return redis.call('pttl', KEYS[1]);`, "h", "ms f"},
	{ // Redisson unlock
		`local val = redis.call('get', KEYS[3]); if val ~= false then return tonumber(val); end;
if (redis.call('hexists', KEYS[1], ARGV[3]) == 0) then return nil; end; local counter = redis.call('hincrby', KEYS[1], ARGV[3], -1);
if (counter > 0) then redis.call('pexpire', KEYS[1], ARGV[2]); redis.call('set', KEYS[3], 0, 'px', ARGV[5]); return 0;
else redis.call('del', KEYS[1]); redis.call(ARGV[4], KEYS[2], ARGV[1]); ` +
			`redis.call('set', KEYS[3], 1, 'px', ARGV[5]); return 1; end;`, "h ch b", "0 ms f publish ms"},
	{ // Redisson fair lock
		`while true do local firstThreadId2 = redis.call('lindex', KEYS[2], 0); if firstThreadId2 == false then break; end;
local timeout = redis.call('zscore', KEYS[3], firstThreadId2); if timeout ~= false and tonumber(timeout) <= tonumber(ARGV[4]) then
redis.call('zrem', KEYS[3], firstThreadId2); redis.call('lpop', KEYS[2]); else break; end; end;
if (redis.call('exists', KEYS[1]) == 0) and ((redis.call('exists', KEYS[2]) == 0) or (redis.call('lindex', KEYS[2], 0) == ARGV[2])) then
redis.call('lpop', KEYS[2]); redis.call('zrem', KEYS[3], ARGV[2]); local keys = redis.call('zrange', KEYS[3], 0, -1);
for i = 1, #keys, 1 do redis.call('zincrby', KEYS[3], -tonumber(ARGV[3]), keys[i]); end;
redis.call('hset', KEYS[1], ARGV[2], 1); redis.call('pexpire', KEYS[1], ARGV[1]); return nil; end;
local ttl = redis.call('pttl', KEYS[1]); local timeout = ttl + tonumber(ARGV[3]) + tonumber(ARGV[4]);
if redis.call('zadd', KEYS[3], timeout, ARGV[2]) == 1 then redis.call('rpush', KEYS[2], ARGV[2]); end; return ttl;`,
		"h l z", "1000 f 2000 atms"},
	{ // node-redlock extend
		redlockExtend, "k a", "v ms"},
	{ // a semaphore
		`redis.call('zremrangebyscore', KEYS[1], '-inf', ARGV[1]) if redis.call('zcard', KEYS[1]) < 2 then
redis.call('zadd', KEYS[1], ARGV[1] + 1000, ARGV[2]) redis.call('expire', KEYS[1], 3) return 1 end ` +
			`return redis.call('zrange', KEYS[1], 0, -1, 'withscores')`, "z", "atms f"},
}

// LuaTexts are scripts whose answers show how values become others, and what a script finds.
var LuaTexts = []string{
	"return 1", "return 3.99", "return -3.99", "return '3.99'",
	"return 1e15", "return 2^53", "return true", "return false", "return nil", "return",
	"return {1, 2, nil, 4}", "return {1, {2, 'x', {true, false}}, 3.7}",
	"return {}", "return {a = 1}", "return {ok = 'fine'}", "return {err = 'MY error'}",
	"return {ok = 'a\\r\\nb'}", "return {1, {ok = 'x'}, {err = 'y'}}", "return redis.status_reply('fine')", "return redis.error_reply('bad')",
	"return redis.error_reply('-bad x')", "return redis.error_reply('')", "return redis.status_reply()", "return redis.error_reply(1)",
	"return {double = 3.5}", "return {map = {a = 1}}", "return {set = {a = true}}", "return {map = {}, 1}",
	"return tostring(1e15)", "return tostring(0.1 + 0.2)",
	"return tostring(1e100)", "return 1 .. ''", "return (0.1 + 0.2) .. 'x' .. 1e15 .. 2^63",
	"return tostring(-0.5)", "return tostring(10/3)", "return tostring(1/0) .. tostring(-1/0)",
	"return table.concat({1, 2.5, 10/3, 'x'}, ',')",
	"return tostring(true) .. tostring(nil)", "return 7 % 3 + -7 % 3",
	"return tonumber('0x10') + tonumber('1e2') + tonumber(' 12 ')", "return tonumber('z', 36)",
	"return tostring(tonumber('x'))", "return tostring(tonumber(''))",
	"return '10' + 5", "return '3' * '4'", "return 10 == '10'", "return #'abc'", "return #{1, 2, 3}",
	"return string.format('%d %s %5.2f %x %05d %q %i', 3, 'x', 2.5, 255, 42, 'a\"b', 7)", "return string.format('%g %e', 0.1, 12345.678)",
	"return {string.find('hello', 'l+')}", "return {string.match('k:v', '(%w+):(%w+)')}",
	"return {string.gsub('a.b.c', '%.', '-')}", "return string.rep('ab', 3)",
	"return string.reverse('abc') .. string.upper('x') .. string.sub('hello', 2, -2)",
	"return {string.byte('abc', 1, -1)}", "return string.char(65, 66)",
	"return {unpack({1, 2, 3})}", "return {select('#', 1, nil, 3), select(2, 'a', 'b')}", "local t = {3, 1, 2} table.sort(t) return t",
	"local t = {1} table.insert(t, 5) table.insert(t, 1, 9) table.remove(t) return t",
	"return {math.floor(-2.5), math.ceil(2.1), math.max(1, 5, 3), math.abs(-2)}",
	"return {tostring(math.random()), math.random(10), math.random(5, 9)}",
	"math.randomseed(42) return {math.random(1000), math.random(1000)}",
	"return tostring(math.fmod(-7, 3)) .. math.pi", "return math.huge",
	"return 0/0", "return type(redis.call) .. type(KEYS) .. type(nil)", "return _VERSION",
	"return redis.sha1hex('x')", "return redis.sha1hex()",
	"return redis.REDIS_VERSION", "return redis.REDIS_VERSION_NUM", "return redis.LOG_WARNING",
	"redis.log(redis.LOG_NOTICE, 'x') return 1", "return redis.replicate_commands()",
	"redis.set_repl(redis.REPL_ALL) return 1", "return redis.log(1)",
	"x = 1", "return x", "return print", "return os", "return tostring(io)",
	"redis.call = 1", "string.x = 1", "_G.x = 1", "KEYS = 1", "KEYS[1] = 'y' return KEYS[1]", "return _G.KEYS[1]",
	"return rawget(_G, 'nope')", "local function f(n) if n == 0 then return 0 end return 1 + f(n - 1) end return f(100)",
	"error('oops')", "error({err = 'MY oops'})", "error('x', 0)",
	"return nil + 1", "return {} .. ''", "local t = nil return t.x", "return pcall(error, 'x')",
	"return {pcall(function() error('deep') end)}", "return select(2, pcall(redis.call, 'incr', 'h')).err",
	"redis.call('set', 'h', 'x')", "return redis.call('set', 'h', 'x')",
	"return redis.call('set', 'h', 12.5)", "redis.call('set', 'h', 2^60) return redis.call('get', 'h')",
	"redis.call('set', 'h', 0.1) return redis.call('get', 'h')",
	"return redis.call('get', 'nope')", "return redis.call('get', 'nope') == false", "return type(redis.call('get', 'nope'))",
	"return redis.call()", "return redis.call('get', {})", "return redis.call('get', nil)",
	"return redis.pcall('get')", "return redis.pcall('nope').err", "return redis.call('nope')",
	"return redis.call('multi')", "return redis.call('subscribe', 'x')",
	"redis.call('hset', 'hh', 'a', 1, 'b', 2) return redis.call('hgetall', 'hh')",
	"redis.setresp(3) redis.call('hset', 'h1', 'a', 1) return redis.call('hgetall', 'h1')",
	"redis.setresp(3) return redis.call('hgetall', 'hh').map.a",
	"redis.setresp(3) return type(redis.call('get', 'nope'))",
	"redis.setresp(3) return true", "redis.setresp(3) return {false, nil, 1}", "redis.setresp(4)",
	"redis.call('zadd', 'zz', 1.5, 'm') return redis.call('zscore', 'zz', 'm')",
	"redis.setresp(3) return redis.call('zscore', 'zz', 'm')", "redis.setresp(3) return redis.call('zscore', 'zz', 'm').double * 2",
	"redis.call('sadd', 'ss', 'm') redis.setresp(3) return redis.call('smembers', 'ss').set.m",
	"return redis.call('time')[2]", "local t = redis.call('time') return t[1] * 1000 + t[2] / 1000",
	"return cjson.encode({1, 2, {a = 'x/y\"\\n'}})", "return cjson.encode({})",
	"return cjson.encode({1.5, true, cjson.null, 1e20, 'é'})", "return cjson.encode({[3] = 1})",
	"return cjson.decode('{\"a\": [1, 2.5, null, \"x\\\\u00e9\"]}').a[4]", "return cjson.decode('[1, null]')[2] == cjson.null",
	"return cjson.decode('{')", "return type(cjson.decode('null'))", "return cjson.encode(cjson.decode('[]'))",
	"return {bit.band(255, 15), bit.bor(1, 2, 4), bit.bxor(5, 1), bit.bnot(0), bit.lshift(1, " +
		"31), bit.rshift(-1, 28), bit.arshift(-8, 1), bit.rol(1, 33), bit.ror(1, 1), bit.bswap(1), bit.tobit(2^32 + 5)}",
	"return bit.tohex(255) .. bit.tohex(-1, 4) .. bit.tohex(255, -4)", "return bit.band(1.5, 3)", "return 'a\\0b'",
	"return #ARGV + #KEYS", "return {KEYS[1], ARGV[1], KEYS[2]}", "return syntax error", "for i = 1 do end", "goto x",
	"#!lua\nreturn 1", "#!lua flags=no-writes\nreturn redis.call('set', 'h', 1)",
	"#!lua flags=no-writes,allow-stale\nreturn redis.call('get', 'h')",
	"#!lua x=1\nreturn 1", "#!lua flags=x\nreturn 1", "#!py\nreturn 1",
	"local c = coroutine.wrap(function() coroutine.yield(1) coroutine.yield(2) end) return {c(), c()}",
	"local t = setmetatable({}, {__index = function(_, k) return k end}) return t.abc", "return loadstring('return 1 + 1')()",
	"local s = 0 for i, v in ipairs({1, 2, nil, 4}) do s = s + v end return s",
	"local n = 0 for _ in pairs({a = 1, b = 2, 3}) do n = n + 1 end return n",
	"local r = {} for w in string.gmatch('a b c', '%a') do r[#r + 1] = w end return r",
	"return table.getn({1, 2})", "return next({})", "return {assert(1, 'x')}", "assert(false, 'no')", "assert(nil)",
	"return tostring(2^31) .. ' ' .. 2^53", "return 100000000000000", "return 1e14 .. ''", "return 123456789012345678 .. ''",
	"redis.setresp(3) return redis.call('info', 'cluster')", "redis.setresp(3) return redis.call('info', 'cluster').verbatim_string.format",
	"return {verbatim_string = {format = 'mkd', string = 'x'}}", "return {verbatim_string = {format = 'mkd'}}",
}
