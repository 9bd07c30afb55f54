package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"

	files "github.com/redlock-sim/redlock-sim/deploy/docker"
)

// DefaultImage is what nodes run in where the scenario names no image. It is
// built where it is missing, from deploy/docker/Dockerfile; `make docker-image`
// builds it without a registry.
const DefaultImage = defaultRepo + ":" + defaultTag

const (
	defaultRepo = "redlock-sim-node"
	defaultTag  = "1"
)

// preloadLabel is what an image with libfaketime says LD_PRELOAD has to be.
const preloadLabel = "redlock-sim.preload"

// ErrNoImage says that an image is neither there nor to be had.
var ErrNoImage = errors.New("no image")

// Image is an image that the engine has.
type Image struct {
	Name, ID string
	// Preload makes a server in it obey libfaketime; empty: it has none.
	Preload string
}

// fetching lets one variant at a time look for an image: the others find it.
var fetching sync.Mutex

// fetchWithin bounds how long pulling or building an image may take.
const fetchWithin = 10 * time.Minute

// Image makes sure that the engine has an image; an empty name stands for
// DefaultImage.
func (e *Engine) Image(ctx context.Context, name string) (Image, error) {
	fetching.Lock()
	defer fetching.Unlock()
	wanted := name
	if wanted == "" {
		wanted = DefaultImage
	}
	i, err := e.Present(ctx, wanted)
	if !absent(err) {
		return i, err
	}
	ctx, cancel := context.WithTimeout(ctx, fetchWithin)
	defer cancel()
	if name == "" || name == DefaultImage {
		err = e.buildDefault(ctx)
	} else {
		err = e.pull(ctx, name)
	}
	if err != nil {
		return i, err
	}
	return e.Present(ctx, wanted)
}

// Find makes sure that the engine of this machine has an image, and removes what killed runs have
// left with it.
func Find(ctx context.Context, name string) (Image, error) {
	e, err := Connect(ctx)
	if err != nil {
		return Image{}, err
	}
	defer e.Close()
	// What cannot be removed does not stop a run; sim doctor tells of it.
	_, _ = e.Leftovers(ctx, true)
	return e.Image(ctx, name)
}

// Present is an image that the engine has already.
func (e *Engine) Present(ctx context.Context, name string) (Image, error) {
	found, err := e.client.ImageInspect(ctx, name)
	if err != nil {
		return Image{}, fmt.Errorf("failed to look at the image %q: %w", name, err)
	}
	i := Image{Name: name, ID: found.ID}
	if found.Config != nil {
		i.Preload = found.Config.Labels[preloadLabel]
	}
	return i, nil
}

func (e *Engine) pull(ctx context.Context, name string) error {
	pulled, err := e.client.ImagePull(ctx, name, client.ImagePullOptions{})
	if err == nil {
		err = errors.Join(pulled.Wait(ctx), pulled.Close())
	}
	if err != nil {
		return fmt.Errorf("%w %q here, and it cannot be pulled: %w", ErrNoImage, name, err)
	}
	return nil
}

// buildDefault builds our Dockerfile on top of the official image.
func (e *Engine) buildDefault(ctx context.Context) error {
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	err := w.WriteHeader(&tar.Header{Name: "Dockerfile", Mode: 0o644, Size: int64(len(files.Dockerfile))})
	if err == nil {
		_, err = w.Write([]byte(files.Dockerfile))
	}
	if err = errors.Join(err, w.Close()); err != nil {
		return err
	}
	_, err = e.provider.BuildImage(ctx, &testcontainers.ContainerRequest{FromDockerfile: testcontainers.FromDockerfile{
		ContextArchive: bytes.NewReader(archive.Bytes()), Repo: defaultRepo, Tag: defaultTag, KeepImage: true,
	}})
	if err != nil {
		return fmt.Errorf("%w %q here, and building it on the official image failed: %w", ErrNoImage, DefaultImage, err)
	}
	return nil
}

// absent reports that the engine knows no such thing.
func absent(err error) bool { return errdefs.IsNotFound(err) }
