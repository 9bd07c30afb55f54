// Package launch starts programs of which every call that waits, tells the time or draws random numbers is told to whoever started
// them, and answered by it: by seccomp's user notification. It knows Linux on amd64 alone; elsewhere Available says so.
//
// # The launcher
//
// A program that is started under a filter of its calls has to install the filter itself. So what is started first is the launcher, a
// static program of 1,500 bytes. It fixes what a program inherits (no descriptors but three, no random addresses, umask, signals,
// limits), installs the filter, sends the filter's listener over a socket, and becomes the program by execve. It is no Go program,
// because the Go runtime starts threads as it likes, and then process numbers differ from run to run.
//
// The listener cannot be fetched from outside: Docker's default profile refuses pidfd_getfd. And once the filter is installed, sendmsg
// and execve may be calls that wait for whoever has the listener, which nobody has yet. So the filter lets both through if their
// fourth argument, which neither has, is a certain number of 64 bits. A second process that shares the launcher's descriptors would do
// it, too, and would use up a process number, and leave a process to be waited for.
//
// The launcher is embedded. When it is used it is written to a file in memory that has no name, and run as /proc/self/fd/N: so it needs
// no folder that permits programs to be run, and nothing has to be removed.
//
// Its source is launcher/launcher.c. `make launcher` builds it; launcher/built.txt then has the sums of source, build script and
// program, and the versions of compiler and linker. TestLauncherIsOfItsSource sees that the sums are still true, so that nobody changes
// one without the other; TestLauncherIsReproduced builds it again where the same compiler is installed, and compares the bytes.
//
// # The calls
//
// The list `harmless` in calls.go has the calls that a program makes natively. All others are told to the listener, whether anybody can
// carry them out or not: so a call that nobody has thought of cannot go wrong unseen.
package launch
