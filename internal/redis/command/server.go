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
	case s.Valkey && s.since(8, 1), !s.Valkey && s.since(8, 4):
		return yes
	}
	return no
}

func (s Server) since(major, minor int) bool {
	return s.Major > major || s.Major == major && s.Minor >= minor
}
