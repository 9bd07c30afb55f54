// Package sentinel has the rules of Redis Sentinel: what one sentinel does, given what it
// hears and when. It has no clock, no connection and does nothing by itself. Its driver
// tells it the time, brings what comes over its connections, and carries out what it
// asks for.
//
// It follows src/sentinel.c of Redis 7.0.15: comments name the function there, and fields
// have the names that they have there. It watches one set of servers. All servers
// have the same priority, and no scripts, passwords or host names.
package sentinel
