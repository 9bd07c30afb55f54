// Package skills holds the skill file for coding agents, which sim init writes.
package skills

import _ "embed"

// RedlockSim is redlock-sim/SKILL.md.
//
//go:embed redlock-sim/SKILL.md
var RedlockSim string
