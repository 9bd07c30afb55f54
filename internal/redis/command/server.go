package command

import (
	"fmt"
	"strings"
)

// Server says which program carries commands out. The zero Server may be any:
// what not all of them know is then not counted on.
type Server struct {
	Valkey       bool
	Major, Minor int
}

// ParseServer reads the versions that INFO tells; valkey is empty for Redis.
func ParseServer(redis, valkey string) Server {
	s := Server{Valkey: valkey != ""}
	version := redis
	if s.Valkey {
		version = valkey
	}
	if n, _ := fmt.Sscanf(version, "%d.%d", &s.Major, &s.Minor); n != 2 {
		return Server{}
	}
	return s
}

// ServerIn reads the versions out of what INFO answered.
func ServerIn(info string) Server {
	var redis, valkey string
	for line := range strings.Lines(info) {
		switch name, value, _ := strings.Cut(strings.TrimSpace(line), ":"); name {
		case "redis_version":
			redis = value
		case "valkey_version":
			valkey = value
		}
	}
	return ParseServer(redis, valkey)
}

func (s Server) String() string {
	name := "Redis"
	if s.Valkey {
		name = "Valkey"
	}
	return fmt.Sprintf("%s %d.%d", name, s.Major, s.Minor)
}

// Feature is something that not all servers know.
type Feature struct {
	Name string
	// Redis and Valkey are the versions since which they know it; the zero Server: it does not.
	Redis, Valkey Server
}

// The features that locks use.
var (
	SetWithIfEq = Feature{"SET with IFEQ", Server{Major: 8, Minor: 4}, Server{Valkey: true, Major: 8, Minor: 1}}
	DeletesIfEq = Feature{Name: "DELIFEQ", Valkey: Server{Valkey: true, Major: 9}}
	// WaitsForSync: WAITAOF came with Redis 7.2, and could answer too early with appendfsync everysec until 8.0 (redis 13793).
	WaitsForSync = Feature{Name: "WAITAOF with everysec", Redis: Server{Major: 8}}
	// ExpiresFields comes with HPEXPIRE (Redis 7.4) and HGETDEL.
	ExpiresFields = Feature{"HSETEX", Server{Major: 8}, Server{Valkey: true, Major: 9}}
)

// MigratesSlots is a feature that a fault uses.
var MigratesSlots = Feature{Name: "CLUSTER MIGRATESLOTS", Valkey: Server{Valkey: true, Major: 9}}

// Knows reports whether a server knows a feature. One of which nothing is known may.
func (s Server) Knows(f Feature) bool {
	since := f.Redis
	if s.Valkey {
		since = f.Valkey
	}
	return s.Major == 0 || since.Major > 0 && s.since(since.Major, since.Minor)
}

// Refuses says why something cannot be on the server that needs some features, and since when servers have them; empty: it can.
func (s Server) Refuses(what string, needs ...Feature) string {
	for _, f := range needs {
		if !s.Knows(f) {
			return fmt.Sprintf("%s needs %s (%s or later), and the server is %v", what, f.Name, f.Since(), s)
		}
	}
	return ""
}

// Since says who knows the feature: "Redis 8.4 or Valkey 8.1".
func (f Feature) Since() string {
	var list []string
	for _, s := range []Server{f.Redis, f.Valkey} {
		if s.Major > 0 {
			list = append(list, s.String())
		}
	}
	return strings.Join(list, " or ")
}

// support says whether something works: not every server has every option.
type support uint8

const (
	no support = iota
	yes
	nobodyKnows
)

// conditions says whether SET has the option IFEQ, IFNE, IFDEQ or IFDNE. Redis has
// them since 8.4, Valkey has IFEQ since 8.1.
func (s Server) conditions(option string) support {
	switch {
	case s.Major == 0:
		return nobodyKnows
	case s.Valkey && !strings.EqualFold(option, "IFEQ") && s.Major > 9:
		return nobodyKnows // what Valkey has learned since is not known here
	case s.Valkey && !strings.EqualFold(option, "IFEQ"):
		return no
	case s.Knows(SetWithIfEq): // in Redis the others have come with it
		return yes
	}
	return no
}

func (s Server) since(major, minor int) bool {
	return s.Major > major || s.Major == major && s.Minor >= minor
}
