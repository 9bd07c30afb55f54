package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/kballard/go-shellquote"
)

// install puts a version into a folder, and returns the command of its lock program.
func install(ctx context.Context, root string, p *Piece, version string, args []string) (command string, err error) {
	dir := filepath.Join(root, ".cache", "recall", p.ID, version)
	program := filepath.Join(root, folder, p.Program)
	packages := append([]string{p.Package}, p.With...)
	var words []string
	switch p.Installer {
	case "pip":
		packages[0] += "==" + version
		python := filepath.Join(dir, "bin", "python")
		err = steps(ctx, dir, []string{interpreter(p.Python), "-m", "venv", dir}, append([]string{python, "-m", "pip", "install", "--quiet",
			"--disable-pip-version-check"}, packages...))
		words = []string{python, program}
	case "npm":
		packages[0] += "@" + version
		err = steps(ctx, dir, append([]string{"npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", dir},
			packages...))
		words = []string{"node", program, dir}
	case "go":
		binary := filepath.Join(dir, p.ID)
		err = buildGo(ctx, root, dir, p, version, binary)
		words = []string{binary}
	case "maven":
		packages[0] += ":" + version
		words, err = buildJava(ctx, root, dir, p.Program, packages)
	default:
		err = fmt.Errorf("nothing is known of the installer %q", p.Installer)
	}
	if err != nil {
		return "", fmt.Errorf("failed to install %s %s: %w", p.Package, version, err)
	}
	return shellquote.Join(append(words, args...)...), nil
}

// interpreter is the Python of a version; empty: whichever there is.
func interpreter(version string) string {
	name := "python" + cmp.Or(version, "3")
	if exec.Command(name, "--version").Run() == nil {
		return name
	}
	home, _ := os.UserHomeDir()
	if found, _ := filepath.Glob(filepath.Join(home, ".pyenv", "versions", version+"*", "bin", name)); len(found) > 0 {
		return found[0]
	}
	return name // to say that it is not there
}

// buildGo builds a lock program of adapters/ with another version of its library. A library that went by another name then has a program
// in a module of its own.
func buildGo(ctx context.Context, root, dir string, p *Piece, version, binary string) error {
	module := filepath.Join(dir, "module")
	if err := os.RemoveAll(module); err != nil {
		return err
	}
	adapters := filepath.Join(root, "adapters")
	if err := os.CopyFS(module, os.DirFS(adapters)); err != nil {
		return err
	}
	program := "./" + p.Program
	if _, err := os.Stat(filepath.Join(module, p.Program, "go.mod")); err == nil {
		module, program = filepath.Join(module, p.Program), "."
	}
	ours := "github.com/redlock-sim/redlock-sim/adapter=" + filepath.Join(root, "adapter")
	// Another lock program of the module may need a later version: a replacement holds for all.
	return steps(ctx, module, []string{"go", "mod", "edit", "-replace", ours, "-require", p.Package + "@v" + version,
		"-replace", p.Package + "=" + p.Package + "@v" + version},
		[]string{"go", "build", "-mod=mod", "-o", binary, program})
}

// buildJava brings jars into a folder, compiles a lock program in Java with them, and returns what starts it.
func buildJava(ctx context.Context, root, dir, program string, packages []string) ([]string, error) {
	var pom strings.Builder
	pom.WriteString("<project><modelVersion>4.0.0</modelVersion><groupId>museum</groupId><artifactId>museum</artifactId>" +
		"<version>1</version><packaging>pom</packaging><dependencies>\n")
	for _, each := range packages {
		parts := strings.Split(each, ":")
		if len(parts) != 3 {
			return nil, fmt.Errorf("%s is no group, artifact and version", each)
		}
		fmt.Fprintf(&pom, "<dependency><groupId>%s</groupId><artifactId>%s</artifactId><version>%s</version></dependency>\n",
			parts[0], parts[1], parts[2])
	}
	pom.WriteString("</dependencies></project>\n")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "pom.xml"), []byte(pom.String()), 0o644); err != nil {
		return nil, err
	}
	classes, jars := filepath.Join(dir, "classes"), filepath.Join(dir, "lib", "*")
	sources := filepath.Join(root, "adapters", "java")
	err := steps(ctx, dir,
		[]string{"mvn", "--quiet", "--batch-mode", "dependency:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory=lib"},
		[]string{"javac", "-cp", jars, "-sourcepath", sources + ":" + filepath.Join(root, "sdk", "java"), "-d", classes,
			filepath.Join(sources, program+".java")})
	// These flags make a start faster, and change nothing else.
	return []string{"java", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-XX:TieredStopAtLevel=1", "-cp", classes + ":" + jars,
		filepath.Base(program)}, err
}

// steps runs commands in a folder, one after the other.
func steps(ctx context.Context, dir string, commands ...[]string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, words := range commands {
		c := exec.CommandContext(ctx, words[0], words[1:]...)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", shellquote.Join(words...), err, out)
		}
	}
	return nil
}
