// Package audit makes the report card of a lock: it runs the scenarios of each guarantee with the
// lock in the place of their own, again where something is violated, and says for each what came
// of it. docs/reference/audit.md says what a cell means.
package audit
