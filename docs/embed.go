// Package docs holds the pages that sim ships.
package docs

import _ "embed"

// LockProtocolSchema is the JSON Schema of the lock protocol.
//
//go:embed lock-protocol.schema.json
var LockProtocolSchema string

// ResultPage is the page that says what the fields of result.json mean.
//
//go:embed reference/result.md
var ResultPage string

// AuditPage is the page about the report card, which says what the fields of card.json mean.
//
//go:embed reference/audit.md
var AuditPage string

// ScenarioSchema is the JSON Schema of scenarios.
//
//go:embed scenario.schema.json
var ScenarioSchema string
