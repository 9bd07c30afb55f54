package guests

import (
	"maps"
	"slices"
	"strings"
)

// fixed is what is the same for all programs.
var fixed = []string{
	"LANG=C.UTF-8", "LC_ALL=C.UTF-8", "TZ=UTC",
	// Hashes of Python have a seed of their own; its cache of compiled modules belongs to the machine.
	"PYTHONHASHSEED=0", "PYTHONDONTWRITEBYTECODE=1",
}

// passing are variables that differ from one terminal, login or CI job to another, or change a program's libraries. A name that ends
// in _ stands for all that begin with it.
var passing = []string{
	"OLDPWD", "PWD", "SHLVL", "TERM", "TERM_", "COLORTERM", "COLUMNS", "LINES", "LS_COLORS", "WINDOWID", "DISPLAY", "WAYLAND_DISPLAY",
	"SSH_", "XDG_", "DBUS_", "TMUX", "STY", "HISTFILE", "PS1", "INVOCATION_ID", "JOURNAL_STREAM", "GPG_", "LC_", "LANGUAGE",
	"REDLOCK_SIM_", "GITHUB_", "RUNNER_", "CI_", "LD_PRELOAD", "MALLOC_",
}

// passes reports that a variable is not for programs.
func passes(name string) bool {
	return name == "_" || slices.ContainsFunc(passing, func(p string) bool {
		return name == p || strings.HasSuffix(p, "_") && strings.HasPrefix(name, p)
	})
}

// environ is the environment of a program: that of this process without what passes, and then what is fixed.
func environ(ours []string, temporary string, more []string) []string {
	byName := make(map[string]string)
	for _, v := range ours {
		if name, _, _ := strings.Cut(v, "="); !passes(name) {
			byName[name] = v
		}
	}
	for _, v := range slices.Concat(fixed, []string{"TMPDIR=" + temporary}, more) {
		name, _, _ := strings.Cut(v, "=")
		byName[name] = v
	}
	return slices.Sorted(maps.Values(byName))
}
