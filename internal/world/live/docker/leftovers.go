package docker

import (
	"context"
	"errors"
	"fmt"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

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
	me, err := self()
	if err != nil {
		return Leftovers{}, err
	}
	s := sweep{e: e, me: me, remove: remove}
	s.containers(ctx)
	s.volumes(ctx)
	s.networks(ctx)
	if err := errors.Join(s.errs...); err != nil {
		return s.found, fmt.Errorf("failed to look for leftovers of killed runs: %w", err)
	}
	return s.found, nil
}

// sweep goes through all that bears our label.
type sweep struct {
	e      *Engine
	me     owner
	remove bool
	found  Leftovers
	errs   []error
}

func ours() client.Filters { return make(client.Filters).Add("label", ownerLabel) }

// stale reports whether what bears these labels has lost its owner.
func (s *sweep) stale(labels map[string]string) bool {
	o, err := parseOwner(labels[ownerLabel])
	return err == nil && o.gone(s.me)
}

// drop counts a leftover and removes it where that is wanted. Another sweep may
// remove it meanwhile.
func (s *sweep) drop(count *int, remove func() error) {
	*count++
	if !s.remove {
		return
	}
	if err := remove(); err != nil && !absent(err) && !errdefs.IsConflict(err) {
		s.errs = append(s.errs, err)
	}
}

func (s *sweep) containers(ctx context.Context) {
	list, err := s.e.client.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: ours()})
	s.errs = append(s.errs, err)
	for _, c := range list.Items {
		if s.stale(c.Labels) {
			s.drop(&s.found.Containers, func() error { return s.e.removeContainer(ctx, c.ID) })
		}
	}
}

func (s *sweep) volumes(ctx context.Context) {
	list, err := s.e.client.VolumeList(ctx, client.VolumeListOptions{Filters: ours()})
	s.errs = append(s.errs, err)
	for _, v := range list.Items {
		if s.stale(v.Labels) {
			s.drop(&s.found.Volumes, func() error {
				_, err := s.e.client.VolumeRemove(ctx, v.Name, client.VolumeRemoveOptions{Force: true})
				return err
			})
		}
	}
}

func (s *sweep) networks(ctx context.Context) {
	list, err := s.e.client.NetworkList(ctx, client.NetworkListOptions{Filters: ours()})
	s.errs = append(s.errs, err)
	for _, n := range list.Items {
		if s.stale(n.Labels) {
			s.drop(&s.found.Networks, func() error {
				_, err := s.e.client.NetworkRemove(ctx, n.ID, client.NetworkRemoveOptions{})
				return err
			})
		}
	}
}
