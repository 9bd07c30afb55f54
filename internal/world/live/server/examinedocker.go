package server

import (
	"context"
	"errors"
	"fmt"

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
	c := Check{Name: "leftovers of killed runs", Found: "none", Hint: "sim doctor --clean removes them; so does the next run in Docker"}
	left, err := e.Leftovers(ctx, false)
	if err == nil && left.Any() {
		c.Found, err = "", fmt.Errorf("%v", left)
	}
	c.Err = err
	return c
}

// Clean removes what killed runs have left with the Docker engine.
func Clean(ctx context.Context) (docker.Leftovers, error) {
	e, err := docker.Connect(ctx)
	if err != nil {
		return docker.Leftovers{}, err
	}
	defer e.Close()
	return e.Leftovers(ctx, true)
}
