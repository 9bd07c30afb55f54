package app

import (
	"context"
	"fmt"

	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

// againstServers is what it takes to run on real servers, in virtual time, what was found with models.
type againstServers struct {
	// server is their program; empty: there are none, and lacking says why.
	server, lacking string
	// leave ends what is left on the machine.
	leave func()
}

// findServers finds the servers that what is found is held against.
func (s *searching) findServers(ctx context.Context) againstServers {
	a := againstServers{leave: func() {}}
	server, _, err := trial.VirtualServer(ctx, "")
	if err == nil {
		a.leave, err = s.enterLive(false, s.listener)
	}
	if err != nil {
		return againstServers{lacking: err.Error(), leave: func() {}}
	}
	a.server = server
	return a
}

// requireServers refuses a search that is to stop where the model is wrong, if that cannot be seen.
func (s *searching) requireServers(ctx context.Context, v *scenario.Variant) error {
	if s.real != nil {
		return Usagef("--strict-model is for a search with models").Hint("leave out --strict-model: these are real servers")
	}
	server, _, err := trial.VirtualServer(ctx, "")
	if err != nil {
		return err
	}
	if why := (&trial.VirtualPlace{Server: server}).Refusal(v); why != "" {
		return Usagef("--strict-model: %s cannot be run on real servers in virtual time: %s", s.out.Of.Scenario.File, why)
	}
	return nil
}

// holdAgainstServers runs on real servers what was found with models. What does not show there is a fault of the model.
func (s *searching) holdAgainstServers(ctx context.Context, a *againstServers, one *Found, k *explore.Shrunk) error {
	found, err := LoadOne(one.File)
	if err != nil {
		return err
	}
	on := trial.OnServers{Lacking: a.lacking}
	if a.server != "" {
		if on, err = trial.RunOnServers(ctx, found, k.Seed, a.server, k.Property, checker.Violated); err != nil {
			return err
		}
	}
	if err = s.tellServers(one, &on); err != nil {
		s.listener.tell(FoundOne{*one})
	}
	return err
}

// tellServers says what came of the run on real servers beside what was found. The error ends a search that is to stop where the model is
// wrong.
func (s *searching) tellServers(one *Found, on *trial.OnServers) error {
	one.Servers = on.String()
	if on.Lacking == "" && on.Verdict != on.OnModels {
		one.Proved = false
	}
	if on.Same() || !s.out.Request.StrictModel {
		return nil
	}
	return (&ExitError{ExitInternal, fmt.Errorf("%s: %s", one.File, one.Servers)}).
		Hint("report it: the model is wrong, or this server is another one; sim replay %s --nodes process shows it", one.File)
}
