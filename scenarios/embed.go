// Package scenarios holds the scenarios that sim ships.
package scenarios

import "embed"

// Files are the scenarios: <name>.yaml, and found/<name>.yaml for those that a search found.
//
//go:embed *.yaml found/*.yaml
var Files embed.FS
