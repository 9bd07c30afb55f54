package server

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// On servers of somebody else, only keys that begin with a prefix of the run's
// own are touched. A key that says so is put there first, so that two runs do not
// take each other's.

// claim takes a prefix into use, where no key begins with it.
func claim(ctx context.Context, admin *redis.Client, own string) error {
	if err := mustBeFree(ctx, admin, own); err != nil {
		return err
	}
	ok, err := admin.SetNX(ctx, own+"claimed-by-sim", "1", 0).Result()
	if err == nil && !ok {
		err = fmt.Errorf("%w: another run has just begun to use %q", ErrKeysExist, own)
	}
	return err
}

// keysOf lists the keys that begin with own, and stops at limit where that is
// not 0.
func keysOf(ctx context.Context, admin *redis.Client, own string, limit int) ([]string, error) {
	var found []string
	pattern := globEscape.Replace(own) + "*"
	for cursor := uint64(0); ; {
		keys, next, err := admin.Scan(ctx, cursor, pattern, 1000).Result()
		if err != nil {
			return nil, fmt.Errorf("failed to look for keys: %w", err)
		}
		if found = append(found, keys...); next == 0 || limit > 0 && len(found) >= limit {
			return found, nil
		}
		cursor = next
	}
}

// globEscape takes from a prefix what SCAN would read as a pattern.
var globEscape = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`)

// removeKeys removes the keys that begin with own.
func removeKeys(ctx context.Context, admin *redis.Client, own string) error {
	keys, err := keysOf(ctx, admin, own, 0)
	if err != nil || len(keys) == 0 {
		return err
	}
	return admin.Del(ctx, keys...).Err()
}
