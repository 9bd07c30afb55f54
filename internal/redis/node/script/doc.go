// Package script runs Redis's Lua scripts as Redis 7.0 does: with its environment, its rules
// for values, its errors. It sees the server as a Host alone.
package script
