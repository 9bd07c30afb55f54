// Package engine is what the playground computes: it runs a scenario in the virtual world, judges it and draws it,
// searches for schedules that break it, and measures how often it breaks. It takes and gives values that become JSON,
// and runs in a browser, compiled to WebAssembly, as it runs anywhere else.
package engine
