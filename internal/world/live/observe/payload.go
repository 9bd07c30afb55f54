package observe

import (
	"context"
	"sync"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// Payloads tells what keys are in the payloads in which servers give keys to each other.
type Payloads struct {
	Ctx context.Context
	// By restores them: a server of the same program, on which nobody looks for keys. Nil: nobody does.
	By *server.Node

	mu    sync.Mutex
	known map[string]command.Key
}

// payloadKey is the key that a payload is for a moment.
const payloadKey = "redlock-sim:payload"

// Key is the key in a payload, but for its end.
func (p *Payloads) Key(payload string) (k command.Key, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if k, known = p.known[payload]; known || p.By == nil {
		return k, known
	}
	if p.By.Admin.RestoreReplace(p.Ctx, payloadKey, 0, payload).Err() != nil {
		return k, false
	}
	state, err := readKeyState(p.Ctx, p.By, payloadKey, "")
	if err != nil || p.By.Admin.Del(p.Ctx, payloadKey).Err() != nil {
		return k, false
	}
	if k = state.key(command.Span{}); k.Holds == command.Unclear || k.Holds == command.Absent {
		return k, false
	}
	if p.known == nil {
		p.known = make(map[string]command.Key)
	}
	p.known[payload] = k
	return k, true
}
