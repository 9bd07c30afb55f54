package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/world/live/docker"
)

// dockerHost runs servers in containers, on a network of the run's own.
type dockerHost struct {
	ownHost
	engine *docker.Engine
	run    *docker.Run
}

var _ Host = (*dockerHost)(nil)

// openDocker connects to the engine and makes the run's network.
func openDocker(ctx context.Context, image string) (Host, error) {
	engine, err := docker.Connect(ctx)
	if err != nil {
		return nil, err
	}
	found, err := engine.Image(ctx, image)
	if err == nil {
		var run *docker.Run
		if run, err = engine.Begin(ctx, found); err == nil {
			return &dockerHost{engine: engine, run: run}, nil
		}
	}
	engine.Close()
	return nil, err
}

func (h *dockerHost) launch(ctx context.Context, n *Node) error {
	if old, ok := n.Server.(*serverContainer); ok {
		if err := old.Restart(ctx); err != nil {
			return err
		}
		return n.begin(ctx, old)
	}
	args := n.commonArguments()
	if n.failsOver() {
		var err error
		if args, err = n.writeSettings(docker.DataDir, args); err != nil {
			return err
		}
	}
	return machine.OnFreePort(func(port int) error {
		spec := docker.ServerSpec{Name: n.Name, Port: port, Folder: n.dir, Arguments: args, ByFile: n.failsOver(), Source: n.Source()}
		if c, ok := n.Clock.(*machine.Faketime); ok {
			spec.Variables = make(map[string]string)
			for _, v := range c.Variables() {
				name, value, _ := strings.Cut(v, "=")
				spec.Variables[name] = value
			}
		}
		s, err := h.run.Start(ctx, spec)
		if errors.Is(err, docker.ErrPortTaken) {
			return fmt.Errorf("%w: %w", machine.ErrPortTaken, err)
		}
		if err != nil {
			return err
		}
		return n.begin(ctx, &serverContainer{Server: s, password: n.password, dir: n.dir, log: n.log})
	})
}

func (h *dockerHost) clock(n *Node) (movableClock, error) {
	preload := h.run.Image().Preload
	if preload == "" {
		return nil, noFaketimeIn(h.run.Image().Name)
	}
	return machine.NewFaketime(n.dir, docker.DataDir, preload)
}

func (h *dockerHost) Reachable(address string) (string, error) { return h.run.Reach(address) }

func (h *dockerHost) Versions() map[string]string {
	i := h.run.Image()
	_, id, _ := strings.Cut(i.ID, ":")
	return map[string]string{"docker": h.engine.Version, "image": i.Name + " " + id[:min(len(id), 12)]}
}

func (h *dockerHost) Close() error {
	defer h.engine.Close()
	return h.run.Close()
}

// serverContainer is a Redis server in a container.
type serverContainer struct {
	*docker.Server
	password string
	// dir has its data, log is where its log is kept.
	dir, log string
}

var _ server = (*serverContainer)(nil)

// engineWithin bounds what is asked of the engine while a run goes on.
const engineWithin = 20 * time.Second

func withinBound(f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), engineWithin)
	defer cancel()
	return f(ctx)
}

func (s *serverContainer) Door() Door             { return onLoopback(s.Spec.Port, s.password, false) }
func (s *serverContainer) folder() string         { return s.dir }
func (s *serverContainer) Stop() error            { return withinBound(s.Pause) }
func (s *serverContainer) Resume() error          { return withinBound(s.Unpause) }
func (s *serverContainer) Kill() error            { return withinBound(s.Server.Kill) }
func (s *serverContainer) checkInfo(string) error { return nil } // the port is the engine's

func (s *serverContainer) whyEnded() error {
	s.keepLog()
	text, _ := os.ReadFile(s.log)
	return fmt.Errorf("the container of %s ended at once: %s", s.Spec.Name, lastLine(text))
}

// keepLog writes down what the server has said; the container goes with its log.
func (s *serverContainer) keepLog() {
	_ = withinBound(func(ctx context.Context) error {
		text, err := s.Log(ctx)
		if err != nil {
			return err
		}
		return os.WriteFile(s.log, text, 0o644)
	})
}

// leave ends the server. The run removes its container.
func (s *serverContainer) leave() {
	if !s.Dead() {
		_ = s.Kill()
	}
	s.keepLog()
}
