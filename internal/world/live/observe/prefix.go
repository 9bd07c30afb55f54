package observe

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// prefixGuard sees that lock programs write no keys of others on a server of somebody else.
type prefixGuard struct {
	admin  *redis.Client
	prefix string
	// writes are the names of the commands that the server says write.
	writes map[string]bool
}

func newPrefixGuard(ctx context.Context, admin *redis.Client, prefix string) (*prefixGuard, error) {
	all, err := admin.Command(ctx).Result()
	if err != nil {
		return nil, fmt.Errorf("failed to ask for the server's commands: %w", err)
	}
	g := &prefixGuard{admin: admin, prefix: prefix, writes: make(map[string]bool)}
	for name, info := range all {
		g.writes[strings.ToLower(name)] = slices.Contains(info.Flags, "write")
	}
	return g, nil
}

// writesOutside says what a command writes beside the keys that begin with the prefix; empty:
// nothing. The server itself says what are keys.
func (g *prefixGuard) writesOutside(ctx context.Context, words []string) string {
	if !g.writes[strings.ToLower(words[0])] {
		return ""
	}
	list := make([]any, len(words))
	for i, word := range words {
		list[i] = word
	}
	keys, err := g.admin.CommandGetKeys(ctx, list...).Result()
	if ctx.Err() != nil {
		return ""
	}
	if err != nil {
		return fmt.Sprintf("%s, which names no key", strings.ToUpper(words[0]))
	}
	i := slices.IndexFunc(keys, func(key string) bool { return !strings.HasPrefix(key, g.prefix) })
	if i < 0 {
		return ""
	}
	return fmt.Sprintf("%s of the key %.100q", strings.ToUpper(words[0]), keys[i])
}
