package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// place is what a request says of where it is carried out. What it leaves open is settled before anything is run, and is then a part of
// the request: what came of it can be repeated on another machine.
type place struct {
	// world is empty where sim is to choose, nodes where they are as usual in that world.
	world, nodes *string
	redis        string
	// chosen: sim has chosen the world.
	chosen bool
	// open: so are the nodes.
	open bool
}

// settle chooses the world of a request that names none, and the nodes. Lock programs run in virtual time: there a run repeats, and no
// machine is too slow. Where that cannot be had they run in real time, and the user is told so first. What only real time has (servers
// that exist already, Docker) asks for it. usual is the world of all else.
func (e *Env) settle(ctx context.Context, p *place, usual string, locks []*scenario.StandIn, l Listener) error {
	p.open = *p.nodes == ""
	if p.chosen = *p.world == ""; p.chosen {
		*p.world = usual
		if hasProgram(locks) && !onlyLive(*p.nodes) && e.Live() == nil { // elsewhere no program runs at all
			*p.world = request.Virtual
			if err := cannotBeVirtual(ctx, p.redis, locks); err != nil {
				p.fallBack(e, err, l)
			}
		}
	}
	if err := checkWorld(*p.world); err != nil {
		return err
	}
	p.settleNodes(e)
	return nil
}

// fallBack puts real time in the place of virtual time that cannot be had.
func (p *place) fallBack(e *Env, why error, l Listener) {
	l.tell(Note{fmt.Sprintf("virtual time cannot be had here: %v; this runs in real time", why)})
	var missing *trial.EnvironmentError
	if errors.As(why, &missing) {
		l.tell(Note{"hint: " + cmp.Or(missing.Hint, "sim doctor says what is missing")})
	}
	*p.world = request.Live
	p.settleNodes(e)
}

// settleNodes fills in what nodes are as usual in the world.
func (p *place) settleNodes(e *Env) {
	if p.open {
		*p.nodes = string(server.Auto)
		if *p.world == request.Live {
			*p.nodes = cmp.Or(e.RealTime.Nodes, *p.nodes)
		}
	}
}

// hasProgram reports that one of the locks is a program; nil is that of a scenario.
func hasProgram(locks []*scenario.StandIn) bool {
	for _, l := range locks {
		if l != nil && l.Program != nil {
			return true
		}
	}
	return false
}

// onlyLive reports that nodes are such as real time alone has.
func onlyLive(nodes string) bool {
	p := server.Provider(nodes)
	return p == server.Docker || p == server.External
}

// cannotBeVirtual is why some locks, or the servers that they meet, cannot run in virtual time; nil: they can. What is known of a program
// once it has described itself is left to storesInRealTime.
func cannotBeVirtual(ctx context.Context, redis string, locks []*scenario.StandIn) error {
	for _, l := range locks {
		if l != nil && l.Program != nil {
			if _, contained := program.Image(l.Program.Command); contained {
				return errContained
			}
		}
	}
	if missing := trial.VirtualTime(); missing != nil {
		return missing
	}
	_, _, err := trial.VirtualServer(ctx, redis)
	return err
}

var errContained = errors.New("a lock program in a Docker image runs in real time")

// storesInRealTime is why a lock that has described itself cannot run in virtual time; nil: it can.
func storesInRealTime(locks ...*scenario.StandIn) error {
	for _, l := range locks {
		if l != nil && l.Program != nil && l.Ready.Store == program.Postgres {
			return fmt.Errorf("%s keeps its lock in PostgreSQL, which runs in real time alone", l.Ready.Name)
		}
	}
	return nil
}
