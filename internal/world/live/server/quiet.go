package server

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// quiet drops what the driver would write to stderr: its complaints about
// servers that we have just killed.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

func init() { redis.SetLogger(quiet{}) }
