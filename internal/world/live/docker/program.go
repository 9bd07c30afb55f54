package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"

	"github.com/redlock-sim/redlock-sim/internal/machine"
)

// Program is a lock program in an image.
type Program struct {
	Image string
	// Arguments go to it, Env, as NAME=value, into its environment.
	Arguments, Env []string
}

// Streams are a program's.
type Streams struct {
	In       io.Reader
	Out, Log io.Writer
}

// RunProgram runs a lock program in a container on this machine's network, until it ends; status
// is how. When ctx ends, it is killed. Its container bears the mark of this process.
func (e *Engine) RunProgram(ctx context.Context, p Program, s Streams) (status int, err error) {
	me, err := machine.Self()
	if err != nil {
		return 0, err
	}
	id, err := e.createProgram(ctx, p, me)
	if err != nil {
		return 0, err
	}
	defer func() {
		ctx, cancel := uncancelled(ctx)
		defer cancel()
		if removal := e.removeContainer(ctx, id); !errdefs.IsConflict(removal) { // the engine may be about to
			err = errors.Join(err, removal)
		}
	}()
	attached, err := e.client.ContainerAttach(ctx, id, client.ContainerAttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: true})
	if err != nil {
		return 0, fmt.Errorf("failed to attach to the container of the lock program: %w", err)
	}
	defer attached.Close()
	ended := e.client.ContainerWait(ctx, id, client.ContainerWaitOptions{Condition: container.WaitConditionNextExit})
	if _, err := e.client.ContainerStart(ctx, id, client.ContainerStartOptions{}); err != nil {
		return 0, fmt.Errorf("failed to start the container of the lock program: %w", err)
	}
	go func() {
		_, _ = io.Copy(attached.Conn, s.In)
		_ = attached.CloseWrite()
	}()
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		_, _ = stdcopy.StdCopy(s.Out, s.Log, attached.Reader)
	}()
	select {
	case r := <-ended.Result:
		<-heard // its last words
		return int(r.StatusCode), nil
	case err := <-ended.Error:
		return 0, fmt.Errorf("failed to wait for the lock program: %w", err)
	}
}

func (e *Engine) createProgram(ctx context.Context, p Program, me machine.Owner) (string, error) {
	ctx, cancel := uncancelled(ctx)
	defer cancel()
	made, err := e.provider.CreateContainer(ctx, testcontainers.ContainerRequest{
		Image: p.Image, Cmd: p.Arguments, Labels: map[string]string{ownerLabel: me.String()},
		ConfigModifier: func(c *container.Config) {
			c.User = fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid()) // links let no other in
			c.Env = slices.Concat(c.Env, p.Env)
			c.OpenStdin, c.StdinOnce, c.AttachStdin, c.AttachStdout, c.AttachStderr = true, true, true, true, true
		},
		HostConfigModifier: func(h *container.HostConfig) {
			h.NetworkMode = "host" // nodes listen on the loopback
			h.AutoRemove = true    // also where nobody is left to do it
			h.SecurityOpt = []string{"no-new-privileges"}
			h.CapDrop = []string{"ALL"}
		},
	})
	if err != nil {
		return "", fmt.Errorf("failed to make a container of the image %q: %w", p.Image, err)
	}
	return made.GetContainerID(), nil
}

// PausePrograms stops the containers of lock programs that processes of these numbers run, and
// returns once they stand still.
func (e *Engine) PausePrograms(ctx context.Context, pids []int) error {
	return e.eachProgram(ctx, pids, "pause", func(c container.Summary) error {
		if c.State != container.StateRunning {
			return nil
		}
		_, err := e.client.ContainerPause(ctx, c.ID, client.ContainerPauseOptions{})
		return err
	})
}

// ResumePrograms lets them go on.
func (e *Engine) ResumePrograms(ctx context.Context, pids []int) error {
	return e.eachProgram(ctx, pids, "resume", func(c container.Summary) error {
		if c.State != container.StatePaused {
			return nil
		}
		_, err := e.client.ContainerUnpause(ctx, c.ID, client.ContainerUnpauseOptions{})
		return err
	})
}

// KillPrograms ends them, and returns once they have ended.
func (e *Engine) KillPrograms(ctx context.Context, pids []int) error {
	return e.eachProgram(ctx, pids, "kill", func(c container.Summary) error {
		_, err := e.client.ContainerKill(ctx, c.ID, client.ContainerKillOptions{Signal: "SIGKILL"})
		if errdefs.IsConflict(err) { // it has ended
			return nil
		}
		return err
	})
}

func (e *Engine) eachProgram(ctx context.Context, pids []int, what string, do func(container.Summary) error) error {
	found, err := e.client.ContainerList(ctx, client.ContainerListOptions{Filters: make(client.Filters).Add("label", ownerLabel)})
	if err != nil {
		return fmt.Errorf("failed to look for the container of a lock program: %w", err)
	}
	for _, c := range found.Items {
		o, err := machine.ParseOwner(c.Labels[ownerLabel])
		if err != nil || !slices.ContainsFunc(pids, o.Is) {
			continue
		}
		if err := do(c); err != nil && !absent(err) {
			return fmt.Errorf("failed to %s the container of a lock program: %w", what, err)
		}
	}
	return nil
}
