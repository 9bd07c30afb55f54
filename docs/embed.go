// Package docs holds the pages that sim ships.
package docs

import _ "embed"

// LockProtocolSchema is the JSON Schema of the lock protocol.
//
//go:embed lock-protocol.schema.json
var LockProtocolSchema string
