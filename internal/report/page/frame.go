// Package page has what all pages have: the frame with its policy, style and script, and the
// palette. It writes pages from templates; a build for a browser does without these.
package page

import (
	"fmt"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/report/plain"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// Badge is a verdict in word, icon and colour: template "badge" shows it.
type Badge struct{ Class, Icon, Word string }

// MissingShards names the shards that something merged lacks.
func MissingShards(list []string) string {
	if len(list) == 1 {
		return "The shard " + plain.Text(list[0]) + " is missing"
	}
	return fmt.Sprintf("%s are missing: %s", words.Count(len(list), "shard"), plain.Text(strings.Join(list, "; ")))
}
