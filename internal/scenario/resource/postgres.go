package resource

import (
	_ "embed"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
)

// PostgresSchema makes a database hold the resource.
//
//go:embed postgres.sql
var PostgresSchema string

// PostgresChannel is where PostgreSQL tells of effects, entries of the log, as
// they are committed.
const PostgresChannel = "effects"

// PostgresCall is the query that does in PostgreSQL what a script does in Redis,
// with the script's keys as $1 and its arguments as $2; empty: there is none.
func PostgresCall(s *command.Script) string {
	switch s {
	case registerScript, checkScript, takeScript, listScript:
		return "select resource_" + s.Name + "($1, $2)"
	}
	return ""
}
