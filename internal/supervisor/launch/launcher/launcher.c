// The launcher becomes a program under a seccomp filter, and hands the filter's listener to whoever started it.
//
// Its arguments are the path of the program and then the program's arguments. Descriptor 3 is a socket: what is to be done comes
// in, the listener and errors go out. It is closed when the program begins. Without arguments the launcher is the program that
// launch.Available puts on trial.
//
// There is no libc, so that few calls are made, always the same, and so that it runs where a machine has another libc or none.
// `make launcher` builds it; the package's doc says how that is checked.
#include <asm/unistd.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

enum { CHANNEL = 3, DFL_SIGNALS = 64, ADDR_NO_RANDOMIZE = 0x0040000, SOL_SOCKET = 1, SCM_RIGHTS = 1, MSG_NOSIGNAL = 0x4000 };
enum { F_SETFD = 2, FD_CLOEXEC = 1, PR_SET_PDEATHSIG = 1, PR_SET_NO_NEW_PRIVS = 38, SIGKILL = 9, AF_INET = 2, SOCK_STREAM = 1 };

// The filter lets a call pass that has this in its fourth argument, which neither sendmsg nor execve has. Otherwise both would
// wait for who does not have the listener yet.
#define PASS 0x6c61756e63686572

// What is to be done: see encode in launch.go.
struct limit { unsigned long resource, soft, hard; };
struct request {
	unsigned long limits;
	struct limit limit[8];
	struct sock_filter filter[1024];
};

// What the launcher answers: 0 and the listener, or the step that failed: see steps in launch.go.
enum { STARTED, READ, NEW_PRIVS, DEATH_SIGNAL, LIMIT, FILTER, EXEC };
struct answer { int step, error, aslr; };

static long call(long nr, long a, long b, long c, long d) {
	register long r10 __asm__("r10") = d, r8 __asm__("r8") = 0, r9 __asm__("r9") = 0;
	long result;
	__asm__ volatile("syscall" : "=a"(result) : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
	return result;
}

static long send(struct answer a, int listener) {
	struct { unsigned long len; int level, type, fd, pad; } rights = { 20, SOL_SOCKET, SCM_RIGHTS, listener, 0 };
	struct { void *base; unsigned long len; } text = { &a, sizeof a };
	struct { void *name; unsigned long name_len; void *text; unsigned long texts; void *control; unsigned long control_len, flags; } message =
		{ 0, 0, &text, 1, &rights, listener < 0 ? 0 : sizeof rights, 0 };
	return call(__NR_sendmsg, CHANNEL, (long)&message, MSG_NOSIGNAL, PASS);
}

static void fail(int step, long result) {
	if (send((struct answer){ step, -result, 0 }, -1) < 0)
		__builtin_trap(); // nobody is there; under the filter exit_group would wait for ever
	for (;;)
		call(__NR_exit_group, 126, 0, 0, 0);
}

// probe is a program that asks for a socket and writes to it what it finds in its memory.
static void probe(void) {
	long word = 0;
	long fd = call(__NR_socket, AF_INET, SOCK_STREAM, (long)&word, 0);
	call(__NR_write, fd, (long)&word, sizeof word, 0);
	for (;;)
		call(__NR_exit_group, 0, 0, 0, 0);
}

__attribute__((used)) static void begin(long *stack) {
	static struct request r;
	static const long dfl[4];
	char **argv = (char **)stack + 1, **envp = argv + stack[0] + 1;
	if (stack[0] < 2)
		probe();
	long n = call(__NR_read, CHANNEL, (long)&r, sizeof r, 0);
	long instructions = (n - (long)__builtin_offsetof(struct request, filter)) / (long)sizeof *r.filter;
	if (instructions <= 0)
		fail(READ, n < 0 ? n : 0);
	call(__NR_fcntl, CHANNEL, F_SETFD, FD_CLOEXEC, 0);
	// What a program inherits is the same, whoever starts sim.
	call(__NR_close_range, CHANNEL + 1, ~0u, 0, 0);
	call(__NR_umask, 022, 0, 0, 0);
	for (long s = 1; s <= DFL_SIGNALS; s++)
		call(__NR_rt_sigaction, s, (long)dfl, 0, 8);
	call(__NR_rt_sigprocmask, 2, (long)dfl, 0, 8);
	// It may be refused; then addresses stay random, which the answer says.
	long aslr = call(__NR_personality, ADDR_NO_RANDOMIZE, 0, 0, 0);
	long e;
	if ((e = call(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0)) < 0)
		fail(NEW_PRIVS, e);
	// Whoever starts us may have died before: then nobody reads the channel, and the send fails.
	if ((e = call(__NR_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0)) < 0)
		fail(DEATH_SIGNAL, e);
	for (unsigned long i = 0; i < r.limits; i++)
		if ((e = call(__NR_prlimit64, 0, r.limit[i].resource, (long)&r.limit[i].soft, 0)) < 0)
			fail(LIMIT, e);
	struct sock_fprog filter = { instructions, r.filter };
	long listener = call(__NR_seccomp, SECCOMP_SET_MODE_FILTER,
		SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, (long)&filter, 0);
	if (listener < 0)
		fail(FILTER, listener);
	if (send((struct answer){ STARTED, 0, aslr < 0 ? -aslr : 0 }, listener) < 0)
		fail(FILTER, 0);
	fail(EXEC, call(__NR_execve, (long)argv[0], (long)(argv + 1), (long)envp, PASS));
}

__asm__(".globl _start\n_start:\n\tmov %rsp, %rdi\n\tcall begin\n");
