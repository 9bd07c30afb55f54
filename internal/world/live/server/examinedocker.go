package server

import (
	"context"
	"errors"

	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/world/live/docker"
)

// examineDocker looks at the engine first, then at what it has.
func examineDocker(ctx context.Context) []Check {
	c := Check{Name: "Docker engine", For: "nodes in Docker", Hint: "start Docker, or say where it listens with DOCKER_HOST"}
	e, err := docker.Connect(ctx)
	if err != nil {
		c.Err = err
		return []Check{c}
	}
	defer e.Close()
	c.Found = "version " + e.Version
	return []Check{c, examineImage(ctx, e), examineLeftovers(ctx, e)}
}

func examineImage(ctx context.Context, e *docker.Engine) Check {
	c := Check{Name: "image " + docker.DefaultImage, For: "nodes in Docker; the first run builds it where a registry can be reached",
		Hint: "make docker-image builds it without one, from this machine's packages"}
	image, err := e.Present(ctx, docker.DefaultImage)
	switch {
	case err != nil:
		c.Err = errors.New("not built yet")
	case image.Preload == "":
		c.Err = noFaketimeIn(image.Name)
		c.For = "clock faults on nodes in Docker"
	default:
		c.Found = "with libfaketime"
	}
	return c
}

func examineLeftovers(ctx context.Context, e *docker.Engine) Check {
	left, err := e.Leftovers(ctx, false)
	return leftCheck("leftovers in Docker", left, err)
}

// Clean removes what killed runs have left, on this machine and with a Docker engine, and says
// what it did, a line for each. Where no engine answers, only the machine is cleaned.
func Clean(ctx context.Context) (did []string, err error) {
	here, err := machine.Clean(true)
	did = append(did, "removed "+here.String())
	e, missing := docker.Connect(ctx)
	if missing != nil {
		return append(did, "did not look at Docker: "+missing.Error()), err
	}
	defer e.Close()
	there, failed := e.Leftovers(ctx, true)
	return append(did, "removed in Docker "+there.String()), errors.Join(err, failed)
}
