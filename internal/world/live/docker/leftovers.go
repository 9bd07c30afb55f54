package docker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// Leftovers counts what killed runs have left with an engine.
type Leftovers struct{ Containers, Volumes, Networks int }

// Any reports whether there is something.
func (l Leftovers) Any() bool { return l != Leftovers{} }

func (l Leftovers) String() string {
	return words.Count(l.Containers, "container") + ", " + words.Count(l.Volumes, "volume") + ", " + words.Count(l.Networks, "network")
}

// Leftovers looks for what owners left that are gone. With remove it removes
// it. Nothing without our labels is touched.
func (e *Engine) Leftovers(ctx context.Context, remove bool) (Leftovers, error) {
	me, err := machine.Self()
	if err != nil {
		return Leftovers{}, err
	}
	ours := make(client.Filters).Add("label", ownerLabel)
	orphaned := func(labels map[string]string) bool {
		o, err := machine.ParseOwner(labels[ownerLabel])
		return err == nil && o.Gone(me)
	}
	found, err := e.sweep(ctx, ours, remove, orphaned)
	// The engine may still be starting a container that a killed run asked for. It keeps
	// its network in use.
	for again := 0; errdefs.IsPermissionDenied(err) && again < sweepsAgain && ctx.Err() == nil; again++ {
		time.Sleep(sweepPause)
		_, err = e.sweep(ctx, ours, remove, orphaned)
	}
	if err != nil {
		return found, fmt.Errorf("failed to look for leftovers of killed runs: %w", err)
	}
	return found, nil
}

// How often, and how soon, what is still in use is looked for again.
const (
	sweepsAgain = 25
	sweepPause  = 200 * time.Millisecond
)

// sweep counts what passes the filters and is chosen by its labels, and removes it
// where that is wanted. Without a choice all of it is the caller's own; otherwise
// another sweep may remove it meanwhile.
func (e *Engine) sweep(
	ctx context.Context, filters client.Filters, remove bool, chosen func(labels map[string]string) bool,
) (found Leftovers, err error) {
	var group machine.Group
	var errs []error
	drop := func(count *int, labels map[string]string, f func() error) {
		if chosen != nil && !chosen(labels) {
			return
		}
		*count++
		if !remove {
			return
		}
		if chosen == nil {
			group.Go(f)
			return
		}
		// One by one: the engine may still be starting what a killed run asked for.
		if err := f(); !errdefs.IsConflict(err) {
			errs = append(errs, err)
		}
	}
	containers, err1 := e.client.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: filters})
	for _, c := range containers.Items {
		drop(&found.Containers, c.Labels, func() error { return e.removeContainer(ctx, c.ID) })
	}
	_ = group.Wait() // volumes and networks in use cannot be removed
	volumes, err2 := e.client.VolumeList(ctx, client.VolumeListOptions{Filters: filters})
	for _, v := range volumes.Items {
		drop(&found.Volumes, v.Labels, func() error {
			_, err := e.client.VolumeRemove(ctx, v.Name, client.VolumeRemoveOptions{Force: true})
			return unlessAbsent(err)
		})
	}
	networks, err3 := e.client.NetworkList(ctx, client.NetworkListOptions{Filters: filters})
	for _, n := range networks.Items {
		drop(&found.Networks, n.Labels, func() error {
			_, err := e.client.NetworkRemove(ctx, n.ID, client.NetworkRemoveOptions{})
			return unlessAbsent(err)
		})
	}
	return found, errors.Join(err1, err2, err3, group.Wait(), errors.Join(errs...))
}

// removeContainer kills and removes a container, paused or not.
func (e *Engine) removeContainer(ctx context.Context, id string) error {
	_, err := e.client.ContainerRemove(ctx, id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	return unlessAbsent(err)
}

// unlessAbsent is what went wrong with a removal.
func unlessAbsent(err error) error {
	if err == nil || absent(err) {
		return nil
	}
	return fmt.Errorf("failed to remove something of a run: %w", err)
}
