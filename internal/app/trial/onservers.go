package trial

import (
	"context"
	"fmt"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/app/verdict"
	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/runner"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/words"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/virtual"
	"github.com/redlock-sim/redlock-sim/internal/world/virtual/guests"
)

// OnServers is how a run with models compares with the same run on real servers in virtual time.
type OnServers struct {
	guests.Agreement
	Property checker.Property
	// Verdict is the one on the property on real servers, OnModels the one on models.
	Verdict, OnModels checker.Verdict
	// Runs is how many were made on real servers, Seed that of the last. There may be several if servers draw something for themselves.
	Runs int
	Seed uint64
	// Lacking is why the run was not made on real servers; empty: it was.
	Lacking string
}

// RunOnServers makes the run of a scenario's first variant on real servers, whose program is server. With models it had a verdict on a
// property; it is made once more with them in the steps of time that programs have, so that what happened can be compared.
func RunOnServers(
	ctx context.Context, s *scenario.Scenario, seed uint64, server string, p checker.Property, onModels checker.Verdict,
) (OnServers, error) {
	o := OnServers{Property: p, OnModels: onModels}
	v, place := s.Variants[0], VirtualPlace{Server: server}
	if o.Lacking = place.Refusal(&v); o.Lacking != "" {
		return o, nil
	}
	engine := virtual.Engine{Step: time.Microsecond}
	defer engine.Close()
	c := runner.Config{Scenario: s.Name, Variant: v, Seed: seed, World: request.Virtual,
		Open: func(spec world.Spec) (world.World, error) { return engine.Open(ctx, spec) }}
	models, err := runner.Run(c)
	if err != nil {
		return o, err
	}
	for o.Runs < tries {
		servers, err := place.Run(ctx, c)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			o.Lacking = err.Error()
			return o, nil
		}
		o.Verdict = checker.Judge(ctx, servers.History, []checker.Property{p}, verdict.Options(&v.Setup))[0].Verdict
		o.Agreement, o.Seed = guests.Compare(models.History, servers.History, v.Setup.Nodes.Replicated()), c.Seed
		if o.Runs++; o.Drawn == "" || o.Verdict == onModels {
			break
		}
		c.Seed++
	}
	return o, nil
}

// tries is how many runs are made on real servers that draw something for themselves, until one has the verdict of the model.
const tries = 10

// Same reports that the verdict is the same, and what happened to keys came in the same order, as far as servers do not draw that.
func (o *OnServers) Same() bool {
	return o.Lacking == "" && o.Verdict == o.OnModels && o.Differs == ""
}

func (o *OnServers) String() string {
	switch {
	case o.Lacking != "":
		return "not run on real servers: " + o.Lacking
	case o.Drawn != "" && o.Verdict != o.OnModels:
		return fmt.Sprintf("real servers, which draw %s, did not show it in %s", o.Drawn, words.Count(o.Runs, "run"))
	case o.Drawn != "" && o.Changes == 0:
		return fmt.Sprintf("real servers show it, too, with seed %d, where keys changed otherwise: they draw %s", o.Seed, o.Drawn)
	case o.Verdict != o.OnModels:
		return fmt.Sprintf("real servers differ from the model: %s is %s there", o.Property, o.Verdict)
	case o.Differs != "":
		return "real servers differ from the model: " + o.Differs
	}
	if o.Changes == 0 {
		return "real servers show it, too; no change of a key or node was recorded that could be compared"
	}
	text := fmt.Sprintf("real servers do the same: %s of keys and nodes, at most %v apart", words.Count(o.Changes, "change"), o.Apart)
	if o.Apart >= tellsWhere {
		text += " (" + o.Where + ")"
	}
	return text
}

// tellsWhere is how far apart a change must be for it to be named.
const tellsWhere = time.Millisecond
